import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { type ImportReport, isUnset, textFor, unknownFields } from '../import-report.ts';
import { type ImportInput, inputError, mapOf, parseJsonInput } from '../read-input.ts';
import { NO_CHANGES } from './caddy-handlers.ts';
import { CaddyRoutes } from './caddy-routes.ts';
import { CaddySites } from './caddy-sites.ts';

const ADAPT = 'caddy adapt --config Caddyfile';
const WHY: Readonly<Record<string, string>> = {
  tls: 'Postern orders certificates by its own settings (acme), or takes uploaded ones',
  pki: 'Postern has its own internal CA',
};
const ADVICE = `: a Caddyfile is converted with ${ADAPT}, whose output this command reads`;
const NO_APP = 'Postern has no such part';
/** Parts that do not decide who gets in. Beside any other, no site is served. */
const HARMLESS: ReadonlySet<string> = new Set(['admin', 'logging', 'storage']);
const HARMLESS_APPS: ReadonlySet<string> = new Set(['tls', 'pki', 'events']);
const HARMLESS_HTTP: ReadonlySet<string> = new Set([
  'http_port',
  'https_port',
  'grace_period',
  'shutdown_delay',
  'metrics',
]);

/** Caddy's JSON, as `caddy adapt` prints it: sites that forward to upstreams. */
export function importCaddy(input: ImportInput, report: ImportReport): CaddySites {
  const { apps, ...top } = mapOf(parseJsonInput(input, ADVICE), input.name);
  const http = isJsonObject(apps) ? apps['http'] : undefined;
  if (!isJsonObject(apps) || !isJsonObject(http) || !isJsonObject(http['servers'])) {
    throw inputError(input.name, 1, `has no "apps.http.servers": make the file with ${ADAPT}`);
  }
  for (const [name, value] of Object.entries(top)) report.dropFields([name], value as JsonValue, NO_APP);
  const { http: _, ...otherApps } = apps;
  for (const [name, value] of Object.entries(otherApps))
    report.dropFields(['apps', name], value as JsonValue, textFor(WHY, name, NO_APP));
  const { servers, ...otherHttp } = http;
  report.dropFields(['apps', 'http'], otherHttp, NO_APP);
  const [unknown] = [
    ...unknownFields(top, HARMLESS),
    ...unknownFields(otherApps, HARMLESS_APPS),
    ...unknownFields(otherHttp, HARMLESS_HTTP),
  ];
  const obstacle = unknown === undefined ? null : `${unknown} may protect it`;
  const sites = new CaddySites(report);
  const hosts = new Map<string, string>();
  for (const [name, server] of Object.entries(servers as JsonObject)) {
    if (!isJsonObject(server))
      throw inputError(input.name, null, `the server ${JSON.stringify(name)} is not an object`);
    const own = readServer(server, ['servers', name], { sites, report, obstacle });
    for (const host of own) {
      // On another port the host may have other rules: Postern has one port.
      if (hosts.has(host)) sites.block(host, `it is in two servers, ${hosts.get(host)} and ${name}`, true);
      hosts.set(host, name);
    }
  }
  return sites;
}

const NO_PART = 'Postern has no such part';
/** Parts of a server that do not decide who gets in. Beside any other, none of its hosts is served. */
const HARMLESS_SERVER_FIELDS: ReadonlySet<string> = new Set([
  'automatic_https',
  'logs',
  'protocols',
  'read_timeout',
  'read_header_timeout',
  'write_timeout',
  'idle_timeout',
  'keepalive_interval',
  'max_header_bytes',
  'strict_sni_host',
  'errors',
  'named_routes',
  'trusted_proxies',
  'trusted_proxies_strict',
  'client_ip_headers',
  'metrics',
]);
const HARMLESS_TLS: ReadonlySet<string> = new Set([
  'certificate_selection',
  'cipher_suites',
  'curves',
  'alpn',
  'protocol_min',
  'protocol_max',
  'default_sni',
  'fallback_sni',
]);

/** Reads the hosts of a server. */
export function readServer(
  server: JsonObject,
  place: readonly string[],
  { sites, report, obstacle }: { readonly sites: CaddySites; readonly report: ImportReport; obstacle: string | null },
): ReadonlySet<string> {
  const { listen, routes, tls_connection_policies: tls, ...rest } = server;
  for (const [name, value] of Object.entries(rest)) report.dropFields([...place, name], value as JsonValue, NO_PART);
  report.dropFields([...place, 'tls_connection_policies'], tls, NO_PART);
  const addresses = Array.isArray(listen) ? (listen as readonly JsonValue[]).map((each) => JSON.stringify(each)) : [];
  for (const address of addresses) {
    if (address === '":443"') continue;
    report.drop([...place, 'listen'], `the edge listens where the setting edge_listen says, not at ${address}`);
  }
  // A site on one address may be private.
  const own = addresses.find((address) => !/^":\d+"$/.test(address));
  const [unknown] = unknownFields(rest, HARMLESS_SERVER_FIELDS);
  const first =
    obstacle ??
    (own === undefined ? null : `its server listens at ${own} only`) ??
    (addresses.length === 0 ? 'its server does not listen' : null) ??
    (unknown === undefined ? null : `${unknown} of its server may protect it`) ??
    tlsObstacle(tls);
  if (first !== null) report.drop(place, `its hosts are written without a backend (503): ${first}`);
  const reader = new CaddyRoutes(sites, report, first);
  reader.read(routes, { hosts: null, paths: null }, place, {
    isCompressed: false,
    rewrite: null,
    requestHeaders: NO_CHANGES,
    responseHeaders: NO_CHANGES,
  });
  return reader.hosts;
}

/** Mutual TLS is one of the things that a policy may ask for. */
function tlsObstacle(policies: JsonValue | undefined): string | null {
  const list = Array.isArray(policies) ? (policies as readonly JsonValue[]) : [policies ?? {}];
  if (!Array.isArray(policies ?? [])) return 'tls_connection_policies has an unexpected shape';
  for (const policy of list) {
    if (!isJsonObject(policy)) return 'tls_connection_policies has an unexpected shape';
    const { match, ...rest } = policy;
    const [unknown] = unknownFields(rest, HARMLESS_TLS);
    if (unknown !== undefined) return `${unknown} of its TLS policies may protect it`;
    const isByName = isJsonObject(match) && Object.keys(match).every((name) => name === 'sni');
    if (!isUnset(match) && !isByName) return 'its TLS policies depend on more than the name';
  }
  return null;
}
