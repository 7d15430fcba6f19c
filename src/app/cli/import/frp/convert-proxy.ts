import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import type { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset, textFor, unknownFields } from '../import-report.ts';

const NO_OPTION = "Postern's agent has no such option";
const PUBLISHED = ['tcp', 'http', 'https'];
/** Options that do not decide who gets in. A tunnel that loses any other is left out of the file. */
const HARMLESS: ReadonlySet<string> = new Set([
  'subdomain',
  'responseHeaders',
  'metadatas',
  'annotations',
  'loadBalancer',
  'healthCheck',
  'use_encryption',
  'use_compression',
  'bandwidth_limit',
  'bandwidth_limit_mode',
  'group',
  'group_key',
  'health_check_type',
  'health_check_timeout_s',
  'health_check_max_failed',
  'health_check_interval_s',
  'health_check_url',
]);
const HARMLESS_IN_PLUGIN: ReadonlySet<string> = new Set([
  'type',
  'localAddr',
  'hostHeaderRewrite',
  'crtPath',
  'keyPath',
  'enableHTTP2',
]);
/**
 * Without the PROXY protocol a service sees the agent, perhaps at an address that it trusts, in place of the visitor.
 */
const HARMLESS_TRANSPORT: ReadonlySet<string> = new Set([
  'useEncryption',
  'useCompression',
  'bandwidthLimit',
  'bandwidthLimitMode',
]);
const NOT_CARRIED: Readonly<Record<string, string>> = {
  udp: 'Postern has no UDP tunnels',
  sudp: 'Postern has no UDP tunnels',
  stcp: 'Postern has no secret tunnels: publish the service with type tcp and ip_restriction, or http with a login',
  xtcp: 'Postern has no direct tunnels: publish the service with type tcp and ip_restriction, or http with a login',
  tcpmux: 'Postern has no such multiplexer: use type tls or tcp',
};
const WHY: Readonly<Record<string, string>> = {
  subdomain: 'a subdomain of frps: write domain with a whole host',
  locations: 'a tunnel has no paths: make an edge with routes to a tunnel group',
  responseHeaders: 'set the headers in your service',
};

/** One proxy of frpc. The hosts of one that is not written are closed: frps leads to the longest location of a host. */
export function addProxy(proxy: JsonObject, index: number, file: AgentFile, report: ImportReport): void {
  const { name, type, localIP: _ip, localPort: _port, remotePort, customDomains, hostHeaderRewrite, ...others } = proxy;
  const { plugin, requestHeaders, ...rest } = others;
  const title = typeof name === 'string' && name !== '' ? name : `proxy-${index + 1}`;
  const place = ['proxies', title];
  const kind = typeof type === 'string' ? type : type === undefined ? 'tcp' : '';
  const target = targetOf(proxy, kind);
  const hosts = hostsOf(proxy);
  if (target === null || !PUBLISHED.includes(kind)) {
    const why = PUBLISHED.includes(kind)
      ? 'its plugin has no counterpart in Postern'
      : textFor(NOT_CARRIED, kind.toLowerCase(), 'not written: Postern has no such type');
    report.dropFields(place, withoutName(proxy), why);
    file.close(hosts, place);
    return;
  }
  const headers = headersOf(requestHeaders, rest, plugin);
  for (const [field, value] of Object.entries(rest) as [string, JsonValue][]) {
    const isWholeSite = field === 'locations' && Array.isArray(value) && value.join() === '/';
    const isOn = field === 'enabled' && value === true;
    if (isWholeSite || isOn || /^header_/.test(field)) continue;
    report.dropFields([...place, field], value, textFor(WHY, field, NO_OPTION));
  }
  if (isJsonObject(plugin)) reportPlugin(plugin, place, report);
  const isForwarded = target.proto === 'http';
  const hasLostHeaders = headers === null || (!isForwarded && !isUnset(headers));
  const lost = [...lostIn(rest, plugin), ...(hasLostHeaders ? ['requestHeaders'] : [])];
  if (lost.length > 0) {
    report.drop(
      place,
      `not written, because ${lost.join(' and ')} may have protected it: add the tunnel with another protection`,
    );
    // One that frpc does not start has no part in its host.
    if (rest['enabled'] !== false) file.close(hosts, place);
    return;
  }
  const hostHeader = hostHeaderRewrite ?? (isJsonObject(plugin) ? plugin['hostHeaderRewrite'] : undefined) ?? null;
  const { proto, addr } = target;
  if (!isForwarded)
    report.dropFields([...place, 'hostHeaderRewrite'], hostHeader, 'the agent forwards the bytes unchanged');
  if (proto === 'tcp') {
    report.dropFields([...place, 'customDomains'], customDomains, 'a tcp tunnel has a port, not a host');
    const port = typeof remotePort === 'number' && remotePort > 0 ? { remote_port: remotePort } : {};
    file.add(title, { proto, addr, ...port }, place);
    return;
  }
  report.dropFields([...place, 'remotePort'], remotePort, 'a tunnel with a host has no port of its own');
  const domains = Array.isArray(customDomains) ? (customDomains as readonly JsonValue[]) : [];
  const fields = isForwarded ? { host_header: hostHeader, request_header: headers } : {};
  // A tunnel has one host.
  for (const domain of domains.length === 0 ? [null] : domains)
    file.add(title, { proto, addr, ...fields, domain }, place, {
      host: domain === null ? (hosts[0] ?? null) : null,
      group: groupOf(rest),
    });
}

/** The name of the group whose proxies share their requests. */
function groupOf({ loadBalancer, group }: JsonObject): JsonValue {
  return (isJsonObject(loadBalancer) ? loadBalancer['group'] : group) ?? null;
}

/** As AgentFile.close takes them. A server of frp adds its own host to a subdomain. */
export function hostsOf({ customDomains, subdomain }: JsonObject): readonly string[] {
  const domains = isUnset(customDomains) ? [] : customDomains;
  const known = Array.isArray(domains) ? (domains as readonly JsonValue[]) : [null];
  const names = known.map((each) => (typeof each === 'string' ? each : '?'));
  return isUnset(subdomain) ? names : [...names, typeof subdomain === 'string' ? `${subdomain}.?` : '?'];
}

/**
 * What the agent does to get the headers that frp sets for the service; null: it cannot. The older form has one field
 * each.
 */
function headersOf(headers: JsonValue | undefined, rest: JsonObject, plugin: JsonValue | undefined): JsonObject | null {
  const inPlugin = isJsonObject(plugin) ? plugin['requestHeaders'] : undefined;
  const set = new Map<string, JsonValue>();
  for (const [field, value] of Object.entries(rest))
    if (field.startsWith('header_')) set.set(field.slice('header_'.length).toLowerCase(), value as JsonValue);
  for (const operations of [headers, inPlugin]) {
    const { set: values = {}, ...unknown } = isJsonObject(operations) ? operations : {};
    const isOdd = !isUnset(operations) && !isJsonObject(operations);
    if (isOdd || !isUnset(unknown) || !isJsonObject(values)) return null;
    for (const [name, value] of Object.entries(values)) set.set(name.toLowerCase(), value as JsonValue);
  }
  // frps does not change Host by them.
  set.delete('host');
  // "${" would be a variable.
  const isPlain = (value: JsonValue): boolean => typeof value === 'string' && !value.includes('$');
  if (![...set.values()].every(isPlain)) return null;
  return {
    add: Array.from(set, ([name, value]) => `${name}: ${String(value as string)}`),
    remove: [...set.keys()],
  };
}

/** What may have restricted access and has no counterpart. */
function lostIn(
  { enabled, locations, transport, ...rest }: JsonObject,
  plugin: JsonValue | undefined,
): readonly string[] {
  const hasAllPaths = Array.isArray(locations) && locations.includes('/');
  const { requestHeaders: _headers, ...inPlugin } = isJsonObject(plugin) ? plugin : {};
  const inTransport = isJsonObject(transport) ? transport : { transport: transport ?? null };
  return [
    ...(enabled === undefined || enabled === true ? [] : ['enabled']),
    // Some paths only: the tunnel would publish all.
    ...unknownFields(hasAllPaths ? {} : { locations: locations ?? null }, HARMLESS),
    ...unknownFields(rest, HARMLESS).filter((field) => !/^(meta|header)_/.test(field)),
    ...unknownFields(inTransport, HARMLESS_TRANSPORT).map((field) => `transport.${field}`),
    ...unknownFields(inPlugin, HARMLESS_IN_PLUGIN).map((field) => `plugin.${field}`),
  ];
}

interface Target {
  readonly proto: 'http' | 'tcp' | 'tls';
  readonly addr: JsonValue;
}

/** Null when only frpc itself can serve it. */
function targetOf({ localIP, localPort, plugin }: JsonObject, kind: string): Target | null {
  const proto = kind === 'http' ? 'http' : kind === 'https' ? 'tls' : 'tcp';
  if (isJsonObject(plugin)) {
    // frpc ends TLS with its own certificate; Postern's edge does that.
    if (plugin['type'] !== 'https2http') return null;
    return { proto: 'http', addr: plugin['localAddr'] ?? null };
  }
  if (plugin !== undefined) return null;
  const host = typeof localIP === 'string' && localIP !== '' ? localIP : '127.0.0.1';
  return {
    proto,
    addr: localPort === undefined ? null : `${host.includes(':') ? `[${host}]` : host}:${String(localPort as number)}`,
  };
}

function reportPlugin(
  { type: _type, localAddr: _addr, hostHeaderRewrite: _host, requestHeaders: _headers, ...plugin }: JsonObject,
  place: readonly string[],
  report: ImportReport,
): void {
  for (const [field, value] of Object.entries(plugin) as [string, JsonValue][]) {
    const isCertificate = field === 'crtPath' || field === 'keyPath';
    report.dropFields(
      [...place, 'plugin', field],
      value,
      isCertificate ? 'the server has the certificate: upload it, or let it order one' : textFor(WHY, field, NO_OPTION),
    );
  }
}

function withoutName({ name: _name, ...rest }: JsonObject): JsonObject {
  return rest;
}
