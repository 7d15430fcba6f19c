import { isPublicName } from '../../acme/names.ts';
import { decodeSetting } from '../../config/decode.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { flagOf, settingNames, settingOf, variableOf } from '../../config/schema.ts';
import { isOn, type ParsedFlags, usage } from '../../lib/flags.ts';
import { formatListenAddress, isLoopbackHost } from '../../lib/net/listen-address.ts';
import type { WireValue } from '../../lib/settings/setting.ts';
import type { CommandContext } from '../command.ts';
import { listenProblem } from '../doctor/dial.ts';
import { isAgreed } from '../is-agreed.ts';

export type Settings = ReadonlyMap<string, WireValue>;

/** Settings that the command line names, as they are written into the file. `--email` is that of the ACME account. */
export function givenSettings(flags: ReadonlyMap<string, string>): Settings {
  const given = new Map<string, WireValue>();
  const email = flags.get('email');
  for (const name of settingNames) {
    const raw = flags.get(flagOf(name)) ?? (name === 'acme_email' ? email : undefined);
    if (raw === undefined || raw === '') continue;
    const source = flags.has(flagOf(name)) ? `flag --${flagOf(name)}` : 'flag --email';
    given.set(name, settingOf(name).kind.encode(decodeSetting(name, raw, source)));
  }
  return given;
}

export interface StandardSettings {
  readonly host: string;
  readonly loaded: LoadedConfig;
  /** `::` or `0.0.0.0`. */
  readonly everywhere: string;
}

/**
 * What a server needs to serve the host to others, where nobody has chosen anything else. A name below localhost is served
 * to this machine only, as by default.
 */
export function standardSettings({ host, loaded, everywhere }: StandardSettings): Settings {
  const wanted = new Map<string, WireValue>();
  if (isLoopbackHost(host)) return wanted;
  const at = (port: number): string => formatListenAddress({ host: everywhere, port });
  wanted.set('edge_listen', at(443));
  wanted.set('edge_http_listen', at(80));
  if (isPublicName(host)) wanted.set('acme', 'on');
  // The internal CA issues certificates that people can trust for this domain alone.
  else if (host.includes('.')) wanted.set('domain', host.slice(host.indexOf('.') + 1));
  return new Map([...wanted].filter(([name]) => isUnchosen(name, loaded)));
}

export function isUnchosen(name: string, { sources }: Pick<LoadedConfig, 'sources'>): boolean {
  return sources[name] === 'default' || sources[name] === 'unset';
}

/** Those that the server does not have yet. A variable overrides the file, so the file cannot change what one says. */
export function missingSettings(wanted: Settings, { values, sources }: LoadedConfig): Settings {
  const missing = [...wanted].filter(([name, value]) => {
    const current = values[name] ?? null;
    return current === null || JSON.stringify(settingOf(name).kind.encode(current)) !== JSON.stringify(value);
  });
  for (const [name] of missing) {
    const source = sources[name] ?? '';
    if (source.startsWith('variable'))
      throw usage(
        `${source} overrides the settings file: change it there, or unset it (${variableOf(name)}), and run this command again`,
      );
  }
  return new Map(missing);
}

/** All addresses of this machine, of both families where it has them. */
export async function everywhere(): Promise<string> {
  return (await listenProblem({ host: '::', port: 0 })) === null ? '::' : '0.0.0.0';
}

/**
 * The settings to write, after a question where they accept the terms of an ACME server. A user who types
 * --acme on accepts them by that. Null: there is nobody to ask.
 */
export async function agreedSettings(
  { changes, given, next }: { readonly changes: Settings; readonly given: Settings; readonly next: LoadedConfig },
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<Settings | null> {
  if (changes.get('acme') !== 'on' || given.has('acme')) return changes;
  const servers = next.config.acme_directory.map((url) => new URL(url).host).join(', ');
  const terms = servers.includes('letsencrypt.org') ? ' (https://letsencrypt.org/repository/)' : '';
  const question = `The server will order public certificates from ${servers}. Do you accept its terms of service${terms}?`;
  if (!isOn(parsed, 'yes') && context.ask === undefined) {
    context.warn(
      `postern: ${question} There is no terminal to ask on: add --yes to accept, or --acme off for certificates of the internal CA. Nothing was changed`,
    );
    return null;
  }
  if (await isAgreed(parsed, context, question)) return changes;
  context.warn(
    'postern: going on without public certificates: the internal CA issues them, and browsers do not trust it',
  );
  return new Map([...changes].filter(([name]) => name !== 'acme'));
}
