import { existsSync } from 'node:fs';
import { Resources } from '../../../client/generated/resources.ts';
import { listSiteEdges, type SiteEdge } from '../../../client/sites.ts';
import { Transport } from '../../../client/transport.ts';
import { settingsCheck } from '../../../control/findings/subjects/settings.ts';
import { storeCheck } from '../../../control/findings/subjects/store.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { PosternError } from '../../../kit/errors.ts';
import { type Finding, findingTable } from '../../../kit/findings.ts';
import { isOn, type ParsedFlags } from '../../../kit/flags.ts';
import { decodeSetting } from '../../settings/decode.ts';
import type { LoadedConfig } from '../../settings/load.ts';
import type { Config } from '../../settings/schema.ts';
import { fetchWith } from '../api/api-fetch.ts';
import { type ApiKey, clientVariable, presetKey } from '../api/api-key.ts';
import { findApiKey, isOnThisMachine, localAnswer, trustCas, trustRootCa } from '../api/connection.ts';
import { createTextSource, type TextSource } from '../api/text-source.ts';
import {
  type Command,
  type CommandContext,
  type CommandSyntax,
  type FlagGroup,
  INVALID_USAGE,
  parseCommand,
  SETTINGS_EXIT_CODE,
} from '../command.ts';
import { printJson } from '../output/output-format.ts';
import { sayWhileSlow, terminalWidth } from '../output/terminal.ts';
import { exitCodeOf } from '../problem-text.ts';
import { serverSettings, settingsGroup } from '../server-settings.ts';
import { API_KEY_FILE, API_URL, ROOT_CA, switchFlag } from '../shared-flags.ts';
import { checkKey, checkReach, unknownUrl, withoutKey } from './checks/api.ts';
import { checkBackends } from './checks/backends.ts';
import { checkDataDir } from './checks/data-dir.ts';
import { checkDnsZones } from './checks/dns-zones.ts';
import { checkHandshakes, checkHosts, pendingNames } from './checks/hosts.ts';
import { checkListeners, checkPorts } from './checks/listeners.ts';
import { listenerUrl } from './dial.ts';
import type { DoctorPorts, Installation, LiveInstallation } from './installation.ts';
import { countByLevel, jsonReport, serverFindings, skippedFindings, textReport } from './report.ts';

const SYNTAX: CommandSyntax = {
  name: 'doctor',
  about:
    "Checks an installation and reports each problem with its remedy. It examines settings, the data directory, the API and its key, listeners, certificates and authorities, DNS providers, routes and upstreams. A route is reported if it rejects all traffic, has no backend, admits anyone, or leads to the API and console of the server without a login. It changes nothing. If no server responds, it runs the checks that need none. Run it on the machine of the server, as the server's user and with the server's settings.",
  flags: [
    switchFlag('json', 'Print one JSON object: ok, counts by level, findings with level, check, message and advice.'),
    { ...API_URL, default: 'derived from api_listen, such as http://127.0.0.1:7080' },
    API_KEY_FILE,
    ROOT_CA,
  ],
  groups: [settingsOfServer()],
  examples: ['sudo postern doctor', 'postern doctor --data-dir postern-data --json'],
  exitCodes: {
    0: 'no problems (warnings and hints are allowed)',
    1: 'problems found',
    2: INVALID_USAGE,
    ...SETTINGS_EXIT_CODE,
  },
};

/** Other users of the machine can read flags: those for secrets are left out. */
function settingsOfServer(): FlagGroup {
  const group = settingsGroup('to find the installation');
  const flags = group.flags.filter(({ name }) => !['api-url', 'api-key', 'authtoken', 'secret-key'].includes(name));
  return { ...group, flags };
}

export function createDoctorCommand(ports: DoctorPorts): Command {
  return {
    syntax: SYNTAX,
    run: async (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const { findings, exitCode } = await diagnosis(parsed, context, ports);
      if (isOn(parsed, 'json')) printJson(jsonReport(findings), context);
      else for (const line of textReport(findings, terminalWidth(context))) context.print(line);
      return exitCode;
    },
  };
}

interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly exitCode: number;
}

async function diagnosis(parsed: ParsedFlags, context: CommandContext, ports: DoctorPorts): Promise<Diagnosis> {
  const settings = await loaded(parsed.flags, context);
  if (!('config' in settings)) return settings;
  const { config } = settings;
  const source = createTextSource();
  await trustRootCa(parsed, source);
  let part = 'this machine';
  const examination = {
    ...{ config, url: await urlOf(settings, context), flags: parsed.flags, context, source, ports },
    isUnset: (name: string) => settings.sources[name] === 'default',
    onPart: (name: string) => {
      part = name;
    },
  };
  const findings = await sayWhileSlow(
    context,
    () => `checking ${part}`,
    () => examine(examination),
  );
  return { findings, exitCode: countByLevel(findings).problem === 0 ? 0 : 1 };
}

/** A server of this data directory may have got its address by a flag, which its other commands find too. */
async function urlOf(settings: LoadedConfig, context: CommandContext): Promise<string | null> {
  const { config, sources } = settings;
  const url = apiUrlOf(settings);
  const isNamed = config.api_url !== null || (sources.api_listen !== 'default' && config.api_listen.port !== 0);
  if (isNamed) return url;
  const { sessions } = await localAnswer({ ...context, env: { ...context.env, POSTERN_DATA_DIR: config.data_dir } });
  const [only, ...others] = sessions;
  return only === undefined || others.length > 0 ? url : only.url;
}

const ofSettings = findingTable('settings', {
  settings_invalid: {
    level: 'problem',
    text: ({ message }: PosternError) => message,
    advice: 'correct it; "postern server --print-config" shows the effective settings',
  },
});

/** A server cannot start with invalid settings, and no other check works without them. */
async function loaded(flags: ReadonlyMap<string, string>, context: CommandContext): Promise<LoadedConfig | Diagnosis> {
  const url = clientVariable('POSTERN_CLI_API_URL', context);
  const named = url === null ? flags : new Map([['api-url', url.value], ...flags]);
  try {
    const settings = await serverSettings(named, context);
    for (const warning of settings.warnings) context.warn(`postern: warning: ${warning}`);
    return settings;
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    return { findings: [ofSettings.found('settings_invalid', error)], exitCode: exitCodeOf(error) };
  }
}

/**
 * Null: with port 0 only the server knows. A server that clients reach by another address is dialled directly where its
 * data directory is: from there, its machine can be inspected.
 */
export function apiUrlOf({ config, sources }: LoadedConfig): string | null {
  const { api_url: url, api_listen: listen } = config;
  const isServersOwn =
    url !== null && !sources.api_url.startsWith('flag') && !isOnThisMachine(url) && existsSync(config.data_dir);
  if (listen.port === 0 || (url !== null && !isServersOwn)) return url;
  return listenerUrl(config);
}

export interface Examination {
  readonly config: Config;
  /** Null: it cannot be known. */
  readonly url: string | null;
  readonly flags: ReadonlyMap<string, string>;
  readonly context: CommandContext;
  readonly source: TextSource;
  readonly ports: DoctorPorts;
  /** Whether nobody set it here: a flag of the server may have. */
  readonly isUnset: (name: string) => boolean;
  /** Called with the name of each part before it is checked. */
  readonly onPart?: (name: string) => void;
}

/** All checks, in dependency order: each needs the results of those before it. */
export async function examine(examination: Examination): Promise<readonly Finding[]> {
  const { config: given, url, ports } = examination;
  const before: Installation = {
    config: given,
    isLocal: url === null || isOnThisMachine(url),
    nowMs: ports.nowMs(),
  };
  const dnsZones = () => checkDnsZones(before, { env: examination.context.env });
  if (url !== null && before.isLocal) trustCas(await ports.internalAuthorities(given));
  const reached = url === null ? unknownUrl() : await checkReach(url, () => ports.nowMs());
  const findings = [...(await checkDataDir(before, reached.isAnswering)), ...reached.findings];
  if (url === null || !reached.isAnswering)
    return [...settingsCheck.run(before), ...findings, ...(await checkPorts(before)), ...(await dnsZones())];
  examination.onPart?.('the API and its key');
  const access = await accessTo({ ...examination, url });
  const config = access === null ? given : await withListeners(access.transport, examination);
  const installation: Installation = { ...before, config };
  const answered = access === null ? withoutKey() : await withGoodKey(access, installation);
  examination.onPart?.('listeners');
  // A server that tells about its own settings knows them best.
  const ofServer = answered.filter(({ check }) => check === settingsCheck.name);
  const isStoreTold = answered.some(({ check }) => check === storeCheck.name);
  return [
    ...(ofServer.length === 0 ? settingsCheck.run(installation) : ofServer),
    ...findings.filter(({ check }) => !isStoreTold || check !== storeCheck.name),
    ...(await checkListeners(installation)),
    ...(await dnsZones()),
    ...answered.filter(({ check }) => check !== settingsCheck.name),
  ];
}

/** Null: there is no key. */
async function accessTo(examination: Examination & { readonly url: string }): Promise<Reading | null> {
  const { url, config, flags, context, source, onPart = () => {} } = examination;
  const env = { ...context.env, POSTERN_DATA_DIR: config.data_dir };
  const found = await findApiKey(url, { flags }, { ...context, env }, source);
  const key = found ?? (isOnThisMachine(url) ? presetKey(config) : null);
  if (key === null) return null;
  return { transport: new Transport({ baseUrl: url, fetch: fetchWith(key), apiKey: key.key }), key, onPart };
}

const LISTENERS = ['edge_listen', 'edge_http_listen', 'tunnel_listen'];

/**
 * With the addresses at which the server listens, where nobody named others here. Without the right to read them, those
 * of this shell count.
 */
async function withListeners(
  transport: Transport,
  { config, isUnset }: Pick<Examination, 'config' | 'isUnset'>,
): Promise<Config> {
  try {
    const { text } = await transport.send({ method: 'GET', path: '/settings' });
    const { settings: served } = JSON.parse(text) as { readonly settings: readonly SettingInEffect[] };
    const listeners = served.filter(({ name, value }) => LISTENERS.includes(name) && isUnset(name) && value !== null);
    const decoded = listeners.map(({ name, value }) => [name, decodeSetting(name, value, 'the server')] as const);
    return { ...config, ...Object.fromEntries(decoded) };
  } catch {
    return config;
  }
}

interface SettingInEffect {
  readonly name: string;
  readonly value: unknown;
}

interface Reading {
  readonly transport: Transport;
  readonly key: ApiKey;
  readonly onPart: (name: string) => void;
}

async function withGoodKey(
  { transport, key, onPart }: Reading,
  installation: Installation,
): Promise<readonly Finding[]> {
  const judged = await checkKey(transport, key);
  if (judged.level === 'problem') return [judged];
  const resources = new Resources(transport);
  let edges: readonly SiteEdge[] = [];
  onPart('sites');
  const unread = await checkOrReport('edges', async () => {
    edges = await listSiteEdges(resources);
    return [];
  });
  // Nearly all other checks need the edges.
  if (unread.length > 0) return [judged, ...unread];
  const live: LiveInstallation = { ...installation, transport, edges };
  const checked: readonly (readonly [string, () => Promise<readonly Finding[]>])[] = [
    ['problems', () => problemsOf(transport)],
    ['managed_certificates', () => pendingNames(live)],
    ['handshakes', async () => checkHandshakes(live, await Array.fromAsync(resources.tlsCertificates.list()))],
    ['hosts', () => checkHosts(live)],
    ['backends', async () => checkBackends(live, await Array.fromAsync(resources.staticBackends.list()))],
  ];
  const findings = [judged];
  for (const [name, check] of checked) {
    onPart(`${name.replaceAll('_', ' ')} of ${edges.length} ${edges.length === 1 ? 'site' : 'sites'}`);
    findings.push(...(await checkOrReport(name, check)));
  }
  return findings;
}

async function problemsOf(transport: Transport): Promise<readonly Finding[]> {
  const { findings, skipped } = await serverFindings(transport);
  return [...findings, ...skippedFindings(skipped)];
}

const FAILED = {
  check_failed: {
    level: 'warning',
    text: ({ error }: { readonly error: unknown }) => `check failed: ${messageOf(error)}`,
    advice: 'use a key with the scope to read it, and rerun this command',
  },
} as const;

/** A key may read some resources and not others: unreadable ones are reported, and the rest is checked anyway. */
async function checkOrReport(name: string, check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [findingTable(name, FAILED).found('check_failed', { error })];
  }
}
