import { realpathSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import type { LoadedConfig } from '../../settings/load.ts';
import type { ApiKey } from '../api/api-key.ts';
import { DEFAULT_URL, KEY_FILE } from '../api/connection.ts';
import { askOrRefuse } from '../ask-or-refuse.ts';
import type { CommandContext } from '../command.ts';
import type { SettingsPlace } from './up-settings.ts';

interface Found {
  readonly place: SettingsPlace;
  readonly loaded: LoadedConfig;
}

/** Secret settings that the server sends, and those that say where. */
const DESTINATIONS = [
  ['console_oidc_client_secret', ['console_oidc_issuer']],
  ['otel_headers', ['otel_endpoint', 'otel_traces_endpoint']],
] as const;

/**
 * A file that the current directory happens to have (a repository that was cloned) must not decide where a key from
 * elsewhere goes, nor which CA vouches for the server that gets it. A token that a process gave goes to that process.
 */
export async function checkKeyDestination(
  { place, loaded, url }: Found & { readonly url: string },
  { source, renew }: ApiKey,
  context: CommandContext,
): Promise<void> {
  if (!place.isFound || renew !== undefined) return;
  const namesAddress = isOfFile('api_listen', place, loaded) && url !== DEFAULT_URL;
  const namesCa =
    url.startsWith('https:') && ['api_tls_cert', 'data_dir'].some((name) => isOfFile(name, place, loaded));
  if ((!namesAddress && !namesCa) || isBeside(source, place.file, loaded.config.data_dir)) return;
  const how = namesAddress ? `says that the API is at ${url}` : 'names the certificate of the API';
  await agreeOn(place.file, how, `the API key of ${source}`, context);
}

/** The same for secrets of the server's variables, which a server that starts with the file would send. */
export async function checkSecretDestinations({ place, loaded }: Found, context: CommandContext): Promise<void> {
  if (!place.isFound) return;
  for (const [secret, destinations] of DESTINATIONS) {
    const source = loaded.sources[secret] ?? '';
    const destination = destinations.find((name) => isOfFile(name, place, loaded));
    if (destination === undefined || !/^(?:flag|variable) /.test(source)) continue;
    await agreeOn(place.file, `sets ${destination}`, `the secret of the ${source}`, context);
  }
}

function isOfFile(name: string, { file }: SettingsPlace, { sources }: LoadedConfig): boolean {
  return sources[name]?.startsWith(`${file}:`) === true;
}

/** Whether the key is in a data directory of the same folder. A link or a path could lead to that of another server. */
function isBeside(source: string, file: string, dataDir: string): boolean {
  if (source !== `the file ${join(dataDir, KEY_FILE)}`) return false;
  return realpathSync(dataDir).startsWith(`${realpathSync(dirname(resolve(file)))}${sep}`);
}

function agreeOn(file: string, how: string, what: string, context: CommandContext): Promise<void> {
  return askOrRefuse(context, {
    question: `${file} in this directory ${how}. Send ${what} there? [y/N] `,
    refusal: `${file} in this directory ${how}, but ${what} does not come from this file: if the file is yours, name it with --config ${file}`,
  });
}
