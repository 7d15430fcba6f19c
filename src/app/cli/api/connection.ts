import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { messageOf } from '../../../kit/error-text.ts';
import { type ParsedFlags, usage } from '../../../kit/flags.ts';
import { HTTP_URL_FORM, parseHttpUrl } from '../../../kit/http/urls.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import type { CommandContext } from '../command.ts';
import { sayWhileSlow } from '../output/terminal.ts';
import type { InstalledServer } from '../service/installed-server.ts';
import { type ApiKey, clientVariable, type GivenVariable, serverKeyVariable } from './api-key.ts';
import type { LocalAnswer } from './local-session.ts';
import type { TextSource } from './text-source.ts';

export const DEFAULT_URL = 'http://127.0.0.1:7080';
export const DEFAULT_DATA_DIR = 'postern-data';
export const KEY_FILE = 'first-api-key';
/** What `postern up` writes for a server without a service. */
export const SETTINGS_HERE = 'postern-server.yaml';

type GivenFlags = Pick<ParsedFlags, 'flags'>;

export async function apiUrl({ flags }: GivenFlags, context: CommandContext): Promise<string> {
  const given = givenUrl(flags, context);
  if (given === null) {
    const usual = (await serviceOf(context))?.url ?? DEFAULT_URL;
    const { sessions } = await localAnswer(context);
    // Several servers with one data directory: the usual one, or none.
    const [only, ...others] = sessions;
    return only === undefined || others.length > 0 ? usual : only.url;
  }
  const url = parseHttpUrl(given.value);
  // The value is not repeated: it may contain a password.
  if (url === null) throw usage(`${given.name} must be ${HTTP_URL_FORM}`);
  return url;
}

/** Whether a flag or a variable names the address of the API. */
export function isUrlGiven({ flags }: GivenFlags, context: CommandContext): boolean {
  return givenUrl(flags, context) !== null;
}

function givenUrl(flags: GivenFlags['flags'], context: CommandContext): GivenVariable | null {
  const flag = flags.get('api-url');
  return flag === undefined ? clientVariable('POSTERN_CLI_API_URL', context) : { name: '--api-url', value: flag };
}

/** Where a server on this machine has its data, unless its flags say otherwise: here, or as the installed service. */
export async function dataDirectory(context: CommandContext): Promise<string> {
  const given = context.env['POSTERN_DATA_DIR'];
  return given || (await dataDirHere()) || ((await serviceOf(context))?.dataDir ?? DEFAULT_DATA_DIR);
}

/** A server that has its data in this directory comes first. */
async function serviceOf(context: CommandContext): Promise<LocalService | null> {
  if (context.env['POSTERN_DATA_DIR'] || existsSync(DEFAULT_DATA_DIR)) return null;
  return (await dataDirHere()) === null ? localService(context) : null;
}

/**
 * Whether this directory has settings that `postern up` wrote for this user. Those of others could lead commands, and
 * the keys in their variables, to a server of theirs.
 */
export async function hasOwnSettingsHere(): Promise<boolean> {
  const owner = await stat(SETTINGS_HERE).then(
    ({ uid }) => uid,
    () => null,
  );
  return owner !== null && owner === process.geteuid?.();
}

/** Where they say that the data is; null: there are none, or "postern up" says what is wrong with them. */
async function dataDirHere(): Promise<string | null> {
  if (!(await hasOwnSettingsHere())) return null;
  const { loadConfig } = await import('../../settings/load.ts');
  try {
    return loadConfig({ flags: new Map([['config', SETTINGS_HERE]]), env: {} }).config.data_dir;
  } catch {
    return null;
  }
}

/** One command asks several times. Contexts that are made from each other share their environment. */
const answers = new WeakMap<CommandContext['env'], Promise<LocalAnswer>>();

/** Servers on this machine that accept commands of this user without a key. */
export function localAnswer(context: CommandContext): Promise<LocalAnswer> {
  const known = answers.get(context.env) ?? askLocally(context);
  answers.set(context.env, known);
  return known;
}

async function askLocally(context: CommandContext): Promise<LocalAnswer> {
  const isNamed = Boolean(context.env['POSTERN_DATA_DIR']) || (await serviceOf(context)) !== null;
  const place = { dataDir: await dataDirectory(context), isNamed };
  const { localSessions } = await import('./local-session.ts');
  const waiting = (): string => `waiting for the server with the data directory ${place.dataDir}`;
  return sayWhileSlow(context, waiting, () => localSessions(place, context.env));
}

/** Only the process that serves this URL counts: another user may listen at another address with the same port. */
async function localKey(url: string, context: CommandContext): Promise<ApiKey | null> {
  const { sessions } = await localAnswer(context);
  return sessions.find((session) => session.url === url)?.apiKey ?? null;
}

/** Null when there is none. The server's first key is sent only to this machine: nobody else needs to see it. */
export async function findApiKey(
  url: string,
  { flags }: GivenFlags,
  context: CommandContext,
  source: TextSource,
): Promise<ApiKey | null> {
  const file = flags.get('api-key-file');
  if (file !== undefined) return checked(await source.read(file, 'api-key-file'), `--api-key-file ${file}`);
  const variable = clientVariable('POSTERN_CLI_API_KEY', context);
  if (variable !== null) return checked(variable.value, variable.name);
  const isElsewhere = givenUrl(flags, context) !== null && !isOnThisMachine(url);
  const local = isElsewhere ? null : await localKey(url, context);
  if (local !== null) return local;
  if (!isOnThisMachine(url)) return null;
  const path = join(await dataDirectory(context), KEY_FILE);
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text !== null) return checked(text, `the file ${path}`);
  const preset = serverKeyVariable(context);
  return preset === null ? ((await serviceOf(context))?.presetKey ?? null) : checked(preset.value, preset.name);
}

function checked(text: string, source: string): ApiKey {
  const key = text.trim();
  if (!/^[\x21-\x7e]+$/.test(key))
    throw usage(`${source} does not contain an API key: a key is one line of visible ASCII characters`);
  return { key, source };
}

/**
 * Whether the API is on this machine, so that a key may be found in a file or cross unencrypted. Names under
 * `localhost` do not count: a command asks the system's resolver, and many resolvers ask the network for them.
 */
export function isOnThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  return isLoopbackHost(hostname) && !hostname.endsWith('.localhost');
}

/** Applies to the whole process, which is one command. */
export function trustCas(pems: readonly string[]): void {
  if (pems.length > 0) setDefaultCACertificates([...getCACertificates('default'), ...pems]);
}

export async function trustRootCa({ flags }: GivenFlags, source: TextSource): Promise<void> {
  const file = flags.get('root-ca');
  if (file === undefined) return;
  const pem = await source.read(file, 'root-ca');
  try {
    trustCas([pem]);
  } catch {
    throw usage(`--root-ca: the file ${file} contains no PEM certificate`);
  }
}

/** How a command of this machine reaches the installed service. */
interface LocalService {
  /** Null: it has port 0, which only its log names. */
  readonly url: string | null;
  readonly dataDir: string;
  readonly presetKey: ApiKey | null;
}

/** One command asks several times. Contexts that are made from each other share their environment. */
const found = new WeakMap<CommandContext['env'], Promise<LocalService | null>>();

/** Null: there is none, or this user may not read its settings. The first call says what it found. */
function localService(context: CommandContext): Promise<LocalService | null> {
  const known = found.get(context.env) ?? find(context);
  found.set(context.env, known);
  return known;
}

async function find(context: CommandContext): Promise<LocalService | null> {
  const installed = (await context.installedServer?.()) ?? null;
  return installed === null ? null : placeOf(installed, context);
}

/** Most commands have no service to ask, and do not load what reads its settings. */
async function placeOf(installed: InstalledServer, context: CommandContext): Promise<LocalService | null> {
  const [{ sayInstalled }, { loadConfig }, { listenerUrl }, { presetKey }] = await Promise.all([
    import('../service/installed-server.ts'),
    import('../../settings/load.ts'),
    import('../doctor/dial.ts'),
    import('./api-key.ts'),
  ]);
  try {
    const { config } = loadConfig({ flags: new Map(), env: installed.env });
    sayInstalled(installed, context);
    const url = config.api_listen.port === 0 ? null : listenerUrl(config);
    return { url, dataDir: config.data_dir, presetKey: presetKey(config) };
  } catch (error) {
    context.warn(`postern: warning: the settings of the installed service cannot be used: ${messageOf(error)}`);
    return null;
  }
}
