import { type Finding, findingsOf } from '../../checks/check.ts';
import { checkSettings, settings, store } from '../../checks/nodes.ts';
import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import { Resources } from '../../client/generated/resources.ts';
import { Transport } from '../../client/transport.ts';
import { decodeSetting } from '../../config/decode.ts';
import type { Config } from '../../config/schema.ts';
import { messageOf } from '../../lib/error-text.ts';
import { fetchWith } from '../api/api-fetch.ts';
import { type ApiKey, presetKey } from '../api/api-key.ts';
import { findApiKey, isOnThisMachine, trustCas } from '../api/connection.ts';
import type { TextSource } from '../api/text-source.ts';
import type { CommandContext } from '../command.ts';
import { checkKey, checkReach } from './checks/api.ts';
import { checkBackends } from './checks/backends.ts';
import { checkDataDir } from './checks/data-dir.ts';
import { checkDnsZones } from './checks/dns-zones.ts';
import { checkHandshakes } from './checks/handshakes.ts';
import { checkHosts } from './checks/hosts.ts';
import { checkListeners, checkPorts } from './checks/listeners.ts';
import { pendingNames } from './checks/pending-names.ts';
import type { DoctorPorts } from './doctor-ports.ts';
import type { Installation, LiveInstallation } from './installation.ts';
import { serverFindings, skippedFindings } from './server-findings.ts';

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
    return [...checkSettings(before), ...findings, ...(await checkPorts(before)), ...(await dnsZones())];
  examination.onPart?.('the API and its key');
  const access = await accessTo({ ...examination, url });
  const config = access === null ? given : await withListeners(access.transport, examination);
  const installation: Installation = { ...before, config };
  const answered = access === null ? withoutKey() : await withGoodKey(access, installation);
  examination.onPart?.('listeners');
  // A server that tells about its own settings knows them best.
  const ofServer = answered.filter(({ check }) => check === settings.name);
  const isStoreTold = answered.some(({ check }) => check === store.name);
  return [
    ...(ofServer.length === 0 ? checkSettings(installation) : ofServer),
    ...findings.filter(({ check }) => !isStoreTold || check !== store.name),
    ...(await checkListeners(installation)),
    ...(await dnsZones()),
    ...answered.filter(({ check }) => check !== settings.name),
  ];
}

/** The API of a server with port 0 cannot be reached, and neither can anything behind it. */
function unknownUrl(): { readonly findings: readonly Finding[]; readonly isAnswering: false } {
  const found = findingsOf('api');
  found.problem(
    `api_listen has port 0: the "ready" line in the server's log names the actual port`,
    'set its address with --api-url or POSTERN_CLI_API_URL',
  );
  return { findings: found.list, isAnswering: false };
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

/** With the addresses at which the server listens, where nobody named others here. Without the right to read them, those of this shell count. */
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

function withoutKey(): readonly Finding[] {
  const found = findingsOf('api_key');
  found.problem('no API key: nothing behind the API was checked', 'set POSTERN_CLI_API_KEY or --api-key-file FILE');
  return found.list;
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
  if (judged.some(({ level }) => level === 'problem')) return judged;
  const resources = new Resources(transport);
  let edges: readonly HttpsEdge[] = [];
  onPart('sites');
  const unread = await checkOrReport('edges', async () => {
    edges = await Array.fromAsync(resources.httpsEdges.list());
    return [];
  });
  // Nearly all other checks need the edges.
  if (unread.length > 0) return [...judged, ...unread];
  const live: LiveInstallation = { ...installation, transport, edges };
  const checked: readonly (readonly [string, () => Promise<readonly Finding[]>])[] = [
    ['problems', () => problemsOf(transport)],
    ['managed_certificates', () => pendingNames(live)],
    ['handshakes', async () => checkHandshakes(live, await Array.fromAsync(resources.tlsCertificates.list()))],
    ['hosts', () => checkHosts(live)],
    ['backends', async () => checkBackends(live, await Array.fromAsync(resources.staticBackends.list()))],
  ];
  const findings = [...judged];
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

/** A key may read some resources and not others: unreadable ones are reported, and the rest is checked anyway. */
async function checkOrReport(name: string, check: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    const found = findingsOf(name);
    const message = messageOf(error);
    found.warning(`check failed: ${message}`, 'use a key with the scope to read it, and rerun this command');
    return found.list;
  }
}
