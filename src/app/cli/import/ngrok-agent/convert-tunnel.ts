import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import type { AgentFile } from '../agent-file.ts';
import { type ImportReport, isUnset, unknownFields } from '../import-report.ts';

/** `name:password`, with a password that the server accepts. */
const CREDENTIALS = /^[^:\p{Cc}]{1,128}:[^\p{Cc}]{8,128}$/u;
const MAX_USERS = 20;

/**
 * The value of `basic_auth` for Postern's agent; null when not all of it can be carried over. Texts may be one or
 * several.
 */
function carriedPasswords(value: JsonValue): readonly string[] | null {
  const texts = Array.isArray(value) ? value : [value];
  const areAll = texts.every((text) => typeof text === 'string' && CREDENTIALS.test(text));
  return areAll && texts.length > 0 && texts.length <= MAX_USERS ? (texts as readonly string[]) : null;
}

/** The passwords of a traffic policy that does nothing but ask for them, for every request; null for any other. */
export function policyPasswords(policy: JsonValue): readonly string[] | null {
  const rules = onlyField(policy, 'on_http_request');
  const actions = onlyField(onlyItem(rules), 'actions');
  const action = onlyItem(actions);
  if (!isJsonObject(action)) return null;
  const { type, config, ...others } = action;
  if (type !== 'basic-auth' || !isJsonObject(config) || !isUnset(others)) return null;
  const { credentials = null, realm: _, enforce = true, ...rest } = config;
  return enforce === true && isUnset(rest) ? carriedPasswords(credentials) : null;
}

function onlyField(value: JsonValue | null, name: string): JsonValue | null {
  if (!isJsonObject(value)) return null;
  const { [name]: found = null, ...others } = value;
  return isUnset(others) ? found : null;
}

function onlyItem(value: JsonValue | null): JsonValue | null {
  return Array.isArray(value) && value.length === 1 ? (value[0] as JsonValue) : null;
}

interface TunnelTarget {
  readonly place: readonly string[];
  readonly file: AgentFile;
  readonly report: ImportReport;
}

/**
 * Options that do not decide who gets in. A tunnel that loses any other is left out of the file: without proxy_proto, a
 * service sees the agent, perhaps at an address that it trusts, in place of the visitor.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  'websocket_tcp_converter',
  'app_protocol',
  'crt',
  'key',
  'verify_upstream_tls',
  'verify_upstream_tls_cas',
]);
const NO_OPTION = "Postern's agent has no such option";
const NO_TERMINATION =
  'the agent passes TLS through and does not end it: give the certificate and its key to the service at addr, or use proto http and upload the certificate to the server';
const NO_PASSWORDS =
  "not carried over: Postern's agent takes up to 20 name:password as basic_auth, with passwords of 8 to 128 characters, and no policies";
const SAME = [
  'proto',
  'addr',
  'labels',
  'schemes',
  'metadata',
  'inspect',
  'host_header',
  'compression',
  'request_header',
  'response_header',
  'user_agent_filter',
  'ip_restriction',
  'mutual_tls_cas',
];

/** Fields that may ask for a password. Two of them at once are not carried over. */
const PASSWORDS = [
  ['basic_auth', carriedPasswords],
  ['auth', carriedPasswords],
  ['traffic_policy', policyPasswords],
  ['policy', policyPasswords],
] as const;

/** One tunnel of version 2. */
export function addTunnel(name: string, tunnel: JsonObject, { place, file, report }: TunnelTarget): void {
  const { hostname, domain, subdomain, remote_addr: remote, oidc, oauth, bind_tls: bindTls, ...others } = tunnel;
  const { circuit_breaker: breaker, ...unlike } = others;
  const rest: Record<string, JsonValue> = { ...unlike };
  const fields: Record<string, JsonValue> = {};
  for (const field of SAME) {
    if (rest[field] !== undefined) fields[field] = rest[field];
    delete rest[field];
  }
  if (fields['proto'] === 'https') fields['proto'] = 'http';
  if (!isUnset(breaker ?? null)) fields['circuit_breaker'] = { error_threshold_percentage: breaker ?? null };
  fields['domain'] = domain ?? hostname ?? null;
  if (bindTls === false || bindTls === 'false') fields['schemes'] = ['http'];
  else if (bindTls === 'both') fields['schemes'] = ['http', 'https'];
  readRemote(remote, fields, place, report);
  report.dropFields(
    [...place, 'subdomain'],
    subdomain,
    'a subdomain of the retired service: write domain with a host of your own',
  );
  for (const [field, read] of PASSWORDS) {
    const passwords = isUnset(rest[field]) ? null : read(rest[field] as JsonValue);
    if (passwords === null || fields['basic_auth'] !== undefined) continue;
    fields['basic_auth'] = passwords;
    delete rest[field];
  }
  const inService = isUnset(subdomain) ? null : `${String(subdomain as string)}.?`;
  const lost: string[] = [];
  for (const [login, value, read] of [
    ['oidc', oidc, readOidc],
    ['oauth', oauth, readOauth],
  ] as const) {
    if (isJsonObject(value) && isUnset(value)) lost.push(login);
    else if (isJsonObject(value)) lost.push(...read(value, fields, place, report).map((each) => `${login}.${each}`));
    else rest[login] = value ?? null;
  }
  if (['basic_auth', 'oidc', 'oauth'].filter((login) => fields[login] !== undefined).length > 1)
    lost.push('its second login');
  lost.push(...unknownFields(rest, HARMLESS));
  if (/\.internal\.?$/i.test(String(fields['domain'] as string))) lost.push('its internal domain');
  for (const [field, value] of Object.entries(rest)) {
    const isCertificate = fields['proto'] === 'tls' && (field === 'crt' || field === 'key');
    const why = PASSWORDS.some(([each]) => each === field) ? NO_PASSWORDS : NO_OPTION;
    report.dropFields([...place, field], value, isCertificate ? NO_TERMINATION : why);
  }
  if (lost.length > 0) {
    report.drop(
      place,
      `not written, because ${lost.join(' and ')} may have protected it: add the tunnel with another protection`,
    );
    // A wildcard of the file, or another tunnel of the host, would serve it without that.
    file.close([domain, hostname, inService].filter((each) => !isUnset(each)).map(String), place);
    return;
  }
  file.add(name, fields, place, { host: inService });
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
): readonly string[] {
  const own = [
    'client_id',
    'client_secret',
    'scopes',
    'options_passthrough',
    'cookie_prefix',
    'inactivity_timeout',
    'maximum_duration',
  ];
  const { carried, unknown } = pick(oidc, own, [...place, 'oidc'], report);
  fields['oidc'] = { issuer: issuer ?? '', ...carried };
  const access = { allow_emails: emails ?? [], allow_email_domains: domains ?? [] };
  if (!isUnset(access)) fields['access'] = withoutUnset(access);
  return unknown;
}

function readOauth(
  { allow_emails: emails, allow_domains: domains, ...oauth }: JsonObject,
  fields: Record<string, JsonValue>,
  place: readonly string[],
  report: ImportReport,
): readonly string[] {
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
  const { carried, unknown } = pick(oauth, own, [...place, 'oauth'], report);
  const rules = withoutUnset({ email_addresses: emails ?? [], email_domains: domains ?? [] });
  fields['oauth'] = { ...carried, ...rules };
  if (isUnset(carried['client_id'])) {
    report.note(
      `${[...place, 'oauth'].join(' > ')}: register an application of your own at the provider, and set client_id and client_secret`,
    );
  }
  return unknown;
}

/** The known fields of a login, and the names of the others: each may restrict who can log in. */
function pick(
  from: JsonObject,
  names: readonly string[],
  place: readonly string[],
  report: ImportReport,
): { readonly carried: JsonObject; readonly unknown: readonly string[] } {
  const entries = Object.entries(from) as [string, JsonValue][];
  for (const [name, value] of entries) if (!names.includes(name)) report.dropFields([...place, name], value, NO_OPTION);
  const carried = withoutUnset(Object.fromEntries(entries.filter(([name]) => names.includes(name))));
  return { carried, unknown: unknownFields(from, new Set(names)) };
}

function withoutUnset(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => !isUnset(each as JsonValue))) as JsonObject;
}
