import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { type ImportReport, textFor, unknownFields } from '../import-report.ts';
import { mapOf, parseJsonInput } from '../parse-input.ts';
import { type ImportInput, inputError } from '../read-input.ts';
import { readServer } from './caddy-server.ts';
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
