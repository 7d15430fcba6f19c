import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import type { AgentFile } from '../agent-file.ts';
import { type ImportReport, textFor, unknownFields } from '../import-report.ts';

const NO_OPTION = "Postern's agent has no such option";
const PUBLISHED = ['tcp', 'http', 'https'];
/** Options that do not decide who gets in. A tunnel that loses any other is left out of the file. */
const HARMLESS: ReadonlySet<string> = new Set([
  'subdomain',
  'requestHeaders',
  'responseHeaders',
  'transport',
  'metadatas',
  'annotations',
  'loadBalancer',
  'healthCheck',
  'use_encryption',
  'use_compression',
  'bandwidth_limit',
  'bandwidth_limit_mode',
  'proxy_protocol_version',
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
  'requestHeaders',
  'enableHTTP2',
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
  requestHeaders: 'set the headers in your service',
  responseHeaders: 'set the headers in your service',
};

/** One proxy of frpc. */
export function addProxy(proxy: JsonObject, index: number, file: AgentFile, report: ImportReport): void {
  const {
    name,
    type,
    localIP: _ip,
    localPort: _port,
    remotePort,
    customDomains,
    hostHeaderRewrite,
    plugin,
    ...rest
  } = proxy;
  const title = typeof name === 'string' && name !== '' ? name : `proxy-${index + 1}`;
  const place = ['proxies', title];
  const kind = typeof type === 'string' ? type : type === undefined ? 'tcp' : '';
  const target = targetOf(proxy, kind);
  if (target === null || !PUBLISHED.includes(kind)) {
    const why = PUBLISHED.includes(kind)
      ? 'its plugin has no counterpart in Postern'
      : textFor(NOT_CARRIED, kind.toLowerCase(), 'not written: Postern has no such type');
    report.dropFields(place, withoutName(proxy), why);
    return;
  }
  for (const [field, value] of Object.entries(rest) as [string, JsonValue][]) {
    const isWholeSite = field === 'locations' && Array.isArray(value) && value.join() === '/';
    const isOn = field === 'enabled' && value === true;
    if (!isWholeSite && !isOn) report.dropFields([...place, field], value, textFor(WHY, field, NO_OPTION));
  }
  if (isJsonObject(plugin)) reportPlugin(plugin, place, report);
  const inPlugin = isJsonObject(plugin) ? plugin['requestHeaders'] : undefined;
  const headers = Object.entries(rest).filter(([field]) => field === 'requestHeaders' || field.startsWith('header_'));
  if (inPlugin !== undefined || headers.length > 0) report.noteLostHeaders(place);
  const lost = lostIn(rest, plugin);
  if (lost.length > 0) {
    report.drop(
      place,
      `not written, because ${lost.join(' and ')} may have protected it: add the tunnel with another protection`,
    );
    return;
  }
  const hostHeader = hostHeaderRewrite ?? (isJsonObject(plugin) ? plugin['hostHeaderRewrite'] : undefined) ?? null;
  const { proto, addr } = target;
  if (proto !== 'http')
    report.dropFields([...place, 'hostHeaderRewrite'], hostHeader, 'the agent forwards the bytes unchanged');
  if (proto === 'tcp') {
    report.dropFields([...place, 'customDomains'], customDomains, 'a tcp tunnel has a port, not a host');
    const port = typeof remotePort === 'number' && remotePort > 0 ? { remote_port: remotePort } : {};
    file.add(title, { proto, addr, ...port }, place);
    return;
  }
  report.dropFields([...place, 'remotePort'], remotePort, 'a tunnel with a host has no port of its own');
  const domains = Array.isArray(customDomains) ? (customDomains as readonly JsonValue[]) : [];
  // A tunnel has one host.
  for (const domain of domains.length === 0 ? [null] : domains) {
    file.add(title, { proto, addr, host_header: proto === 'http' ? hostHeader : null, domain }, place);
  }
}

/** What may have restricted access and has no counterpart. */
function lostIn({ enabled, locations, ...rest }: JsonObject, plugin: JsonValue | undefined): readonly string[] {
  const hasAllPaths = Array.isArray(locations) && locations.includes('/');
  return [
    ...(enabled === undefined || enabled === true ? [] : ['enabled']),
    // Some paths only: the tunnel would publish all.
    ...unknownFields(hasAllPaths ? {} : { locations: locations ?? null }, HARMLESS),
    ...unknownFields(rest, HARMLESS).filter((field) => !/^(meta|header)_/.test(field)),
    ...unknownFields(isJsonObject(plugin) ? plugin : {}, HARMLESS_IN_PLUGIN).map((field) => `plugin.${field}`),
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
  { type: _type, localAddr: _addr, hostHeaderRewrite: _host, ...plugin }: JsonObject,
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
