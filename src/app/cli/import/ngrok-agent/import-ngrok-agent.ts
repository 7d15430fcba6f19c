import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset, textFor, unknownFields } from '../import-report.ts';
import { type ImportInput, inputError, parseYamlInput } from '../read-input.ts';
import { addTunnel, policyPasswords } from './convert-tunnel.ts';

/** Settings of the agent that are carried over; the rest is about the retired service. */
const CARRIED: Readonly<Record<string, string>> = {
  metadata: 'metadata',
  remote_management: 'remote_management',
  web_addr: 'inspect_addr',
};
const WHY: Readonly<Record<string, string>> = {
  authtoken: 'a token of the retired service: create one of your server',
  api_key: 'a key of the retired service',
  root_cas: 'write the CA of your server to root_cas, if it is not public',
  connect_cas: 'write the CA of your server to root_cas, if it is not public',
};
const NO_SETTING = "Postern's agent has no such setting";

/** ngrok.yml of version 2 (tunnels) and 3 (agent, endpoints, tunnels). */
export async function importNgrokAgent(input: ImportInput, report: ImportReport): Promise<AgentFile> {
  const { version, agent, tunnels, endpoints, ...top } = parseYamlInput(input);
  if (![undefined, 2, 3, '2', '3'].includes(version as string)) {
    throw inputError(input.name, null, 'has an unknown version: this import reads the versions 2 and 3');
  }
  const file = new AgentFile(report);
  const leaveOut = (place: readonly string[], why: string): void => {
    report.drop(place, why);
    // What is left out may protect any host of the file.
    file.close(['?'], place);
  };
  readSettings({ ...top, ...(isJsonObject(agent) && agent) }, isJsonObject(agent) ? ['agent'] : [], file, report);
  for (const [name, tunnel] of Object.entries(isJsonObject(tunnels) ? tunnels : {})) {
    const place = ['tunnels', name];
    if (isJsonObject(tunnel)) addTunnel(name, tunnel, { place, file, report });
    else leaveOut(place, 'is not a tunnel');
  }
  for (const [name, value, isExpected] of [
    ['agent', agent, isJsonObject(agent)],
    ['tunnels', tunnels, isJsonObject(tunnels)],
    ['endpoints', endpoints, Array.isArray(endpoints)],
  ] as const) {
    if (!isExpected && !isUnset(value)) leaveOut([name], 'not written: it has an unexpected shape');
  }
  const list = Array.isArray(endpoints) ? (endpoints as readonly JsonValue[]) : [];
  for (const [index, endpoint] of list.entries()) {
    if (isJsonObject(endpoint)) addEndpoint(endpoint, index, { file, report });
    else leaveOut(['endpoints', String(index)], 'is not an endpoint');
  }
  return file;
}

function readSettings(settings: JsonObject, place: readonly string[], file: AgentFile, report: ImportReport): void {
  for (const [name, value] of Object.entries(settings) as [string, JsonValue][]) {
    const target = Object.hasOwn(CARRIED, name) ? CARRIED[name] : undefined;
    if (target === undefined || isJsonObject(value))
      report.dropFields([...place, name], value, textFor(WHY, name, NO_SETTING));
    else file.set(target, value === 'false' ? false : value);
  }
}

const NO_OPTION = "Postern's agent has no such option";
const HARMLESS: ReadonlySet<string> = new Set(['pooling_enabled']);
const HARMLESS_UPSTREAM: ReadonlySet<string> = new Set(['protocol']);

const HOST = /^(?:[a-z]+:\/\/)?([^:/]+)/i;

/** One endpoint of version 3: a public URL and an upstream. */
export function addEndpoint(
  endpoint: JsonObject,
  index: number,
  { file, report }: { readonly file: AgentFile; readonly report: ImportReport },
): void {
  const { name, url, upstream, metadata, description, traffic_policy: policy = null, ...others } = endpoint;
  const passwords = policyPasswords(policy);
  const rest = passwords === null ? { traffic_policy: policy, ...others } : others;
  const title = typeof name === 'string' && name !== '' ? name : `endpoint-${index + 1}`;
  const place = ['endpoints', title];
  const { url: target, ...upstreamRest } = isJsonObject(upstream) ? upstream : { url: upstream ?? null };
  for (const [field, value] of Object.entries(rest))
    report.dropFields([...place, field], value as JsonValue, NO_OPTION);
  for (const [field, value] of Object.entries(upstreamRest)) {
    report.dropFields([...place, 'upstream', field], value as JsonValue, NO_OPTION);
  }
  const { bindings, ...left } = rest as JsonObject;
  const isPublic = Array.isArray(bindings) && bindings.every((each) => each === 'public');
  const lost = [
    ...unknownFields(left, HARMLESS),
    ...unknownFields(isPublic ? {} : { bindings: bindings ?? null }, HARMLESS),
    ...unknownFields(upstreamRest as JsonObject, HARMLESS_UPSTREAM).map((each) => `upstream.${each}`),
  ];
  if (lost.length > 0) {
    report.drop(
      place,
      `not written, because ${lost.join(' and ')} may have protected it: add the tunnel with a protection`,
    );
    // A wildcard of the file, or another endpoint of the host, would serve it without that. Without a URL it has a host
    // of its own.
    if (!isUnset(url)) file.close([HOST.exec(typeof url === 'string' ? url : '')?.[1] ?? '?'], place);
    return;
  }
  const published = publicAddress(url ?? '', place, report);
  if (published === null) return;
  const texts = [description, metadata].filter((each): each is string => typeof each === 'string' && each !== '');
  const fields = { ...published, addr: localAddress(target), metadata: texts.join(' ') };
  const group = others['pooling_enabled'] === true ? true : null;
  file.add(title, passwords === null ? fields : { ...fields, basic_auth: passwords }, place, { group });
}

/** Null after it was reported. */
function publicAddress(url: JsonValue, place: readonly string[], report: ImportReport): JsonObject | null {
  const [whole, scheme = 'https', host = '', port] =
    /^(?:([a-z]+):\/\/)?([^:/]*)(?::(\d+))?\/?$/.exec(typeof url === 'string' ? url : '/') ?? [];
  const drop = (why: string): null => {
    report.drop([...place, 'url'], why);
    return null;
  };
  if (whole === undefined) return drop('must be a scheme and a host, without a path');
  if (/\.internal\.?$/i.test(host)) return drop('internal endpoints do not exist in Postern: use a tunnel with labels');
  if (scheme === 'tcp') {
    if (host !== '') drop('only the port is carried over, as remote_port: the server must have it in tcp_ports');
    return { proto: 'tcp', ...(port !== undefined && { remote_port: Number(port) }) };
  }
  if (port !== undefined) drop(`the port ${port} is that of the server: its settings say where it listens`);
  if (scheme === 'tls') return { proto: 'tls', domain: host };
  if (scheme === 'https') return { proto: 'http', domain: host };
  if (scheme === 'http') return { proto: 'http', schemes: ['http'], domain: host };
  return drop('has a scheme that the agent does not publish');
}

/** A port, or a URL whose scheme the agent knows. */
function localAddress(target: JsonValue | undefined): JsonValue {
  return typeof target === 'string' ? target.replace(/^(tcp|tls):\/\//, '') : (target ?? null);
}
