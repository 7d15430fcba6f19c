import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import type { ImportReport } from '../import-report.ts';
import { mapOf, parseJsonInput } from '../parse-input.ts';
import { type ImportInput, inputError } from '../read-input.ts';
import { CaddyRoutes } from './caddy-routes.ts';
import { CaddySites } from './caddy-sites.ts';

const WHY: Readonly<Record<string, string>> = {
  tls: 'Postern orders certificates by its own settings (acme), or takes uploaded ones',
  pki: 'Postern has its own internal CA',
};
const NO_APP = 'Postern has no such part';

/** Caddy's JSON, as `caddy adapt` prints it: sites that forward to upstreams. */
export function importCaddy(input: ImportInput, report: ImportReport): CaddySites {
  const { apps, ...top } = mapOf(parseJsonInput(input), input.name);
  const http = isJsonObject(apps) ? apps['http'] : undefined;
  if (!isJsonObject(apps) || !isJsonObject(http) || !isJsonObject(http['servers'])) {
    throw inputError(input.name, 1, 'has no "apps.http.servers": make the file with caddy adapt --config Caddyfile');
  }
  for (const [name, value] of Object.entries(top)) report.dropFields([name], value as JsonValue, NO_APP);
  const { http: _, ...otherApps } = apps;
  for (const [name, value] of Object.entries(otherApps))
    report.dropFields(['apps', name], value as JsonValue, WHY[name] ?? NO_APP);
  const { servers, ...otherHttp } = http;
  report.dropFields(['apps', 'http'], otherHttp, NO_APP);
  const sites = new CaddySites();
  for (const [name, server] of Object.entries(servers as JsonObject)) {
    if (isJsonObject(server)) readServer(server, ['servers', name], sites, report);
  }
  return sites;
}

function readServer(server: JsonObject, place: readonly string[], sites: CaddySites, report: ImportReport): void {
  const { listen, routes, ...rest } = server;
  for (const [name, value] of Object.entries(rest)) report.dropFields([...place, name], value as JsonValue, NO_APP);
  const addresses = Array.isArray(listen) ? (listen as readonly JsonValue[]).map((each) => JSON.stringify(each)) : [];
  for (const address of addresses) {
    if (address === '":443"') continue;
    report.drop([...place, 'listen'], `the edge listens where the setting edge_listen says, not at ${address}`);
  }
  // A site on one address may be private.
  const own = addresses.find((address) => !/^":\d+"$/.test(address));
  const obstacle = own === undefined ? null : `its server listens at ${own} only`;
  new CaddyRoutes(sites, report).read(routes, { hosts: null, paths: null }, place, { isCompressed: false, obstacle });
}
