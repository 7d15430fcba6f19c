import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Resources } from '../../../client/generated/resources.ts';
import type { Setting } from '../../../client/generated/settings.ts';
import type { Transport } from '../../../client/transport.ts';
import { publicPorts } from '../../../kit/net/host-name.ts';
import { isLoopbackHost, type ListenAddresses } from '../../../kit/net/listen-address.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import { decodeSetting } from '../../settings/decode.ts';
import type { LoadedConfig } from '../../settings/load.ts';
import type { Config } from '../../settings/schema.ts';
import { CommandTransport } from '../api/api-access.ts';
import { DEFAULT_URL, dataDirectory, findApiKey, KEY_FILE, trustCas } from '../api/connection.ts';
import { createTextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { checkReach } from '../doctor/checks/api.ts';
import { listenerUrl } from '../doctor/dial.ts';
import type { DoctorPorts } from '../doctor/installation.ts';
import { upFailed } from './errors.ts';
import { checkKeyDestination } from './found-settings.ts';
import type { SettingsPlace } from './up-settings.ts';

const START_MS = 120_000;
const LOOK_AGAIN_MS = 100;

interface ServerAccess {
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

export type ShownSettings = readonly Pick<Setting, 'name' | 'value' | 'source'>[];

/** What publishing a site depends on. */
export interface ServerFacts {
  /** With its port, as in the setting. */
  readonly identityHost: string | null;
  readonly isAcmeOn: boolean;
  /** The port in the addresses of sites. */
  readonly publicPort: number;
  /** All that visitors can use; null: nobody knows them before the start. */
  readonly publicPorts: readonly number[] | null;
  /** Whether only this machine can reach it. */
  readonly isLocalOnly: boolean;
  /** Host of the API's public address; null: it has none. */
  readonly apiHost: string | null;
}

type Needed = Pick<Config, 'identity_host' | 'acme' | 'edge_listen' | 'edge_host_ports' | 'api_url'>;

export function factsOf({ identity_host, acme, edge_listen, api_url, edge_host_ports: mapped }: Needed): ServerFacts {
  const listening = edge_listen.map(({ port }) => port);
  const ports = publicPorts({ listening, mapped });
  return {
    identityHost: identity_host,
    isAcmeOn: acme === 'on',
    publicPort: ports[0] ?? edge_listen[0].port,
    publicPorts: listening.includes(0) ? null : ports,
    // A port that something in front maps is reached from there.
    isLocalOnly: mapped.length === 0 && edge_listen.every(({ host }) => isLoopbackHost(host)),
    apiHost: api_url === null ? null : new URL(api_url).hostname,
  };
}

/** The settings of a server that runs. */
export function readSettings(transport: Transport): Promise<ShownSettings> {
  return Array.fromAsync(new Resources(transport).settings.list());
}

/** The configuration file of a server that runs; null: it reads none. Undefined: it is too old to say. */
export async function readConfigFile(transport: Transport): Promise<string | null | undefined> {
  const { text } = await transport.send({ method: 'GET', path: '/settings' });
  return (JSON.parse(text) as { readonly config_file?: string | null }).config_file;
}

export function factsInEffect(settings: ShownSettings): ServerFacts {
  const shown = (name: string): unknown => settings.find((each) => each.name === name)?.value ?? null;
  const decoded = (name: string): unknown => decodeSetting(name, shown(name), 'the server');
  return factsOf({
    identity_host: shown('identity_host') as string | null,
    api_url: shown('api_url') as string | null,
    acme: shown('acme') as Needed['acme'],
    edge_listen: decoded('edge_listen') as ListenAddresses,
    edge_host_ports: decoded('edge_host_ports') as Needed['edge_host_ports'],
  });
}
