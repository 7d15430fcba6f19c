import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import type { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset } from '../import-report.ts';

export interface TunnelTarget {
  readonly place: readonly string[];
  readonly file: AgentFile;
  readonly report: ImportReport;
}

/** Options that decide who gets in: a tunnel that loses one is left out of the file. */
const PROTECTIONS = [
  'basic_auth',
  'auth',
  'verify_webhook',
  'user_agent_filter',
  'traffic_policy',
  'policy',
  'client_cas',
];
const NO_OPTION = "Postern's agent has no such option";
const SAME = [
  'proto',
  'addr',
  'labels',
  'schemes',
  'metadata',
  'inspect',
  'host_header',
  'compression',
  'ip_restriction',
  'mutual_tls_cas',
];

/** One tunnel of version 2. */
export function addTunnel(name: string, tunnel: JsonObject, { place, file, report }: TunnelTarget): void {
  const { hostname, domain, subdomain, remote_addr: remote, oidc, oauth, bind_tls: bindTls, ...others } = tunnel;
  const rest: Record<string, JsonValue> = { ...others };
  const fields: Record<string, JsonValue> = {};
  for (const field of SAME) {
    if (rest[field] !== undefined) fields[field] = rest[field];
    delete rest[field];
  }
  if (fields['proto'] === 'https') fields['proto'] = 'http';
  fields['domain'] = domain ?? hostname ?? null;
  if (bindTls === false || bindTls === 'false') fields['schemes'] = ['http'];
  else if (bindTls === 'both') fields['schemes'] = ['http', 'https'];
  readRemote(remote, fields, place, report);
  report.dropFields(
    [...place, 'subdomain'],
    subdomain,
    'a subdomain of the retired service: write domain with a host of your own',
  );
  if (isJsonObject(oidc)) readOidc(oidc, fields, place, report);
  if (isJsonObject(oauth)) readOauth(oauth, fields, place, report);
  const lost = PROTECTIONS.filter((each) => !isUnset(rest[each]));
  for (const [field, value] of Object.entries(rest)) report.dropFields([...place, field], value, NO_OPTION);
  if (lost.length > 0) {
    report.drop(
      place,
      `not written, because ${lost.join(' and ')} protected it: add the tunnel with another protection`,
    );
    return;
  }
  file.add(name, fields, place);
}

/** `1.tcp.ngrok.io:20301`: only the port can be asked for elsewhere. */
function readRemote(
  remote: JsonValue | undefined,
  fields: Record<string, JsonValue>,
  place: readonly string[],
  report: ImportReport,
): void {
  if (typeof remote !== 'string') return;
  const [, port] = /:(\d+)$/.exec(remote) ?? [];
  if (port !== undefined) fields['remote_port'] = Number(port);
  report.drop(
    [...place, 'remote_addr'],
    port === undefined
      ? NO_OPTION
      : 'only the port is carried over, as remote_port: the server must have it in tcp_ports',
  );
}

function readOidc(
  { issuer_url: issuer, allow_emails: emails, allow_domains: domains, ...oidc }: JsonObject,
  fields: Record<string, JsonValue>,
  place: readonly string[],
  report: ImportReport,
): void {
  const own = [
    'client_id',
    'client_secret',
    'scopes',
    'options_passthrough',
    'cookie_prefix',
    'inactivity_timeout',
    'maximum_duration',
  ];
  fields['oidc'] = { issuer: issuer ?? '', ...pick(oidc, own, [...place, 'oidc'], report) };
  const access = { allow_emails: emails ?? [], allow_email_domains: domains ?? [] };
  if (!isUnset(access)) fields['access'] = withoutUnset(access);
}

function readOauth(
  { allow_emails: emails, allow_domains: domains, ...oauth }: JsonObject,
  fields: Record<string, JsonValue>,
  place: readonly string[],
  report: ImportReport,
): void {
  const own = [
    'provider',
    'client_id',
    'client_secret',
    'scopes',
    'email_addresses',
    'email_domains',
    'teams',
    'organizations',
    'options_passthrough',
    'cookie_prefix',
    'inactivity_timeout',
    'maximum_duration',
    'auth_check_interval',
  ];
  const carried = pick(oauth, own, [...place, 'oauth'], report);
  const rules = withoutUnset({ email_addresses: emails ?? [], email_domains: domains ?? [] });
  fields['oauth'] = { ...carried, ...rules };
  if (isUnset(carried['client_id'])) {
    report.note(
      `${[...place, 'oauth'].join(' > ')}: register an application of your own at the provider, and set client_id and client_secret`,
    );
  }
}

function pick(from: JsonObject, names: readonly string[], place: readonly string[], report: ImportReport): JsonObject {
  const entries = Object.entries(from) as [string, JsonValue][];
  for (const [name, value] of entries) if (!names.includes(name)) report.dropFields([...place, name], value, NO_OPTION);
  return withoutUnset(Object.fromEntries(entries.filter(([name]) => names.includes(name))));
}

function withoutUnset(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => !isUnset(each as JsonValue))) as JsonObject;
}
