import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { type ImportReport, isUnset, unknownFields } from '../import-report.ts';
import { NO_CHANGES } from './caddy-headers.ts';
import { CaddyRoutes } from './caddy-routes.ts';
import type { CaddySites } from './caddy-sites.ts';

const NO_PART = 'Postern has no such part';
/** Parts of a server that do not decide who gets in. Beside any other, none of its hosts is served. */
const HARMLESS: ReadonlySet<string> = new Set([
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

/** Its hosts. */
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
  const [unknown] = unknownFields(rest, HARMLESS);
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
