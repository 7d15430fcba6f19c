import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '../../client/transport.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { shellWord } from '../../lib/text/shell-word.ts';
import { CommandTransport } from '../api/command-transport.ts';
import { DEFAULT_URL, dataDirectory, findApiKey, KEY_FILE, trustCas } from '../api/connection.ts';
import { createTextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { checkReach } from '../doctor/checks/api.ts';
import type { DoctorPorts } from '../doctor/doctor-ports.ts';
import { listenerUrl } from '../doctor/listener-url.ts';
import { checkKeyDestination } from './found-settings.ts';
import type { SettingsPlace } from './settings-place.ts';
import { upFailed } from './up-failed.ts';

const START_MS = 120_000;
const LOOK_AGAIN_MS = 100;

export interface ServerAccess {
  readonly place: SettingsPlace;
  readonly loaded: LoadedConfig;
  readonly flags: ReadonlyMap<string, string>;
  readonly context: CommandContext;
  readonly ports: DoctorPorts;
}

type Reach = 'absent' | 'starting' | 'ready';

/** Whether a server with these settings answers now. One that starts is waited for. */
export async function isRunning(access: Pick<ServerAccess, 'loaded' | 'ports'>): Promise<boolean> {
  const reach = await reachOf(access);
  if (reach === 'starting') await untilRunning(access);
  return reach !== 'absent';
}

async function reachOf({ loaded, ports }: Pick<ServerAccess, 'loaded' | 'ports'>): Promise<Reach> {
  const url = serverUrl(loaded);
  if (url.startsWith('https:')) trustCas(await ports.internalAuthorities(loaded.config));
  const { isAnswering, findings } = await checkReach(url, () => ports.nowMs());
  if (!isAnswering) return 'absent';
  // A store with a problem is reported by the first request that needs it.
  return findings.some(({ level }) => level === 'ok' || level === 'problem') ? 'ready' : 'starting';
}

/** Resolves when the server answers. `ended` resolves or rejects if it stops before that. */
export async function untilRunning(
  access: Pick<ServerAccess, 'loaded' | 'ports'>,
  ended: Promise<unknown> = new Promise(() => {}),
): Promise<void> {
  const deadlineMs = performance.now() + START_MS;
  const stopped = ended.then(() => {
    throw upFailed('the server stopped before it was ready. Its output says why');
  });
  stopped.catch(() => {});
  while ((await Promise.race([reachOf(access), stopped])) !== 'ready') {
    if (performance.now() > deadlineMs)
      throw upFailed(`no server answers at ${serverUrl(access.loaded)} after ${START_MS / 1000} seconds. See its log`);
    await Promise.race([sleep(LOOK_AGAIN_MS), stopped]);
  }
}

export async function openServer({ place, loaded, flags, context }: ServerAccess): Promise<Transport> {
  const url = serverUrl(loaded);
  const { POSTERN_CLI_API_KEY: own } = context.env;
  const env = { ...place.env, POSTERN_DATA_DIR: loaded.config.data_dir, POSTERN_CLI_API_KEY: own };
  const key = await findApiKey(url, { flags }, { ...context, env }, createTextSource());
  if (key === null) {
    throw upFailed(
      `a server runs at ${url}, and there is no API key for it in ${loaded.config.data_dir}: run this command as root or as the user of the server, or set POSTERN_CLI_API_KEY or --api-key-file FILE`,
    );
  }
  await checkKeyDestination({ place, loaded, url }, key, context);
  return new CommandTransport({ url, apiKey: key });
}

export function serverUrl({ config }: LoadedConfig): string {
  if (config.api_listen.port === 0)
    throw upFailed('api_listen has port 0, so nobody knows where the API is: set a fixed port with --api-listen');
  return listenerUrl(config);
}

/** Flags with which other commands of this shell find the server; empty: they find it by themselves. */
export async function connectionFlags(loaded: LoadedConfig, context: CommandContext): Promise<string> {
  const [url, { data_dir: dataDir }] = [serverUrl(loaded), loaded.config];
  const isKnownDirectory = resolve(await dataDirectory(context)) === resolve(dataDir);
  const flags = [
    ...(url === DEFAULT_URL ? [] : ['--api-url', url]),
    ...(isKnownDirectory ? [] : ['--api-key-file', shellWord(join(resolve(dataDir), KEY_FILE))]),
  ];
  return flags.map((word) => ` ${word}`).join('');
}
