import type { Setting } from './setting.ts';
import { optional, required } from './setting.ts';
import {
  boolean,
  choice,
  choiceList,
  cidrList,
  domainName,
  headerNameList,
  hostList,
  hostPatternList,
  httpUrl,
  integer,
  issuerList,
  listenAddress,
  portList,
  portRange,
  postgresUrl,
  presetToken,
  secretKeys,
  text,
} from './setting-kinds.ts';

/** The parts of the program that this version can start. */
export const ROLES = ['api', 'edge', 'gateway', 'events'] as const;
export const METRICS_LEVELS = ['route', 'edge', 'process'] as const;
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

export const AMBIGUOUS_PATHS = ['refuse', 'pass'] as const;

/** `api_tls_cert` with this value asks for a certificate of the internal CA. */
export const INTERNAL_CERTIFICATE = 'internal';

const path = text('a path');

/** Every setting, in the order in which the documentation shows them. The key is the name in the YAML file. */
export const settings = {
  data_dir: required(path, {
    description:
      'Directory of the SQLite file, the internal CA and the generated keys. Created with mode 0700. A relative path starts at the working directory.',
  }),
  database_url: optional(postgresUrl, {
    description: 'PostgreSQL to keep the store in. Unset: SQLite in the data directory.',
    secrecy: 'password',
  }),
  database_migrate_under_old_nodes: required(boolean, {
    description:
      'A new version changes the tables of PostgreSQL at its start even while servers of an older version are connected. They go on serving from memory and refuse writes. Otherwise the start is refused until they have stopped.',
  }),
  secret_key: optional(secretKeys, {
    description:
      'Encrypts secrets at rest: 32 bytes in base64. Unset: made on the first start, in the data directory with mode 0600.',
    secrecy: 'secret',
  }),
  roles: required(choiceList(ROLES), { description: 'The parts of the program that this process runs.' }),
  api_listen: required(listenAddress, {
    description:
      'Address of the management API, with /healthz, /metrics, /openapi.json and /docs. An address that is not loopback needs api_tls_cert.',
  }),
  api_url: optional(httpUrl, {
    description: 'URL under which clients reach the API: the prefix of every uri. Unset: derived from the listener.',
  }),
  api_tls_cert: optional(path, {
    description:
      'PEM file with the certificate chain of the API listener, or "internal" for a certificate of the internal CA. Unset: plain HTTP, on loopback only. The file is read again when it changes.',
  }),
  api_tls_key: optional(path, { description: 'PEM file with the private key that belongs to api_tls_cert.' }),
  metrics_level: required(choice(METRICS_LEVELS), {
    description:
      'What the traffic metrics are told apart by: route (about 19 series for each route), edge, or process for neither.',
  }),
  api_metrics_open: required(boolean, { description: 'Whether /metrics answers without an API key.' }),
  api_rate_limit: required(integer(0, 1_000_000), {
    description: 'Requests per second that one API key may send; above it the answer is 429. 0: no limit.',
  }),
  api_key: optional(presetToken, {
    description:
      'The first API key. Has an effect only while the store has none. Unset: generated, and printed once or written to a file in the data directory.',
    secrecy: 'secret',
  }),
  authtoken: optional(presetToken, {
    description:
      'The first agent credential. Has an effect only while the store has none. Unset: generated, like the API key.',
    secrecy: 'secret',
  }),
  domain: required(domainName, {
    description:
      'Base domain of ephemeral endpoints, and the only domain that the internal CA which users are asked to trust may vouch for.',
  }),
  edge_listen: required(listenAddress, { description: 'Address of the HTTPS edge.' }),
  edge_http_listen: required(listenAddress, {
    description: 'Address of the plain HTTP edge: redirects the hosts of edges to HTTPS and knows no others.',
  }),
  access_log: required(boolean, {
    description: 'Whether the edge logs a line per request, without headers and query.',
  }),
  trusted_proxies: required(cidrList, {
    description: 'Address ranges of proxies in front of the edge whose X-Forwarded-For is believed. Empty: nobody is.',
  }),
  ambiguous_paths: required(choice(AMBIGUOUS_PATHS), {
    description:
      'What becomes of a path that an upstream may read as that of a route with other access modules, such as /ADMIN beside a protected /admin: "refuse" answers 400, "pass" forwards it by the route that it matches as it stands.',
  }),
  ambiguous_paths_pass_hosts: required(hostPatternList, {
    description:
      'Hosts on which ambiguous paths pass although ambiguous_paths is "refuse": names, or wildcards such as *.example.com.',
  }),
  drop_request_headers: required(headerNameList, {
    description:
      'Headers of clients that upstreams do not get, because upstreams commonly believe them: names, or prefixes that end in "*". Set, it replaces the whole list. Headers that the edge itself states are always taken out. See docs/headers.md.',
  }),
  forwarded_header: required(boolean, { description: 'Whether upstreams also get the Forwarded header of RFC 7239.' }),
  edge_host_ports: required(portList, {
    description:
      'Ports that a request to either listener of the edge may name in its Host header; with another the answer is 400. Empty: any, because port mappings in front of the edge are not known here. A request without a port always passes.',
  }),
  edge_header_bytes: required(integer(1024, 1_048_576), { description: 'Bytes that the head of a request may have.' }),
  edge_header_count: required(integer(10, 2000), { description: 'Header lines that a request may have.' }),
  edge_header_timeout: required(integer(1, 600), {
    description: 'Seconds that a client gets to send the head of a request.',
  }),
  edge_idle_timeout: required(integer(1, 3600), {
    description: 'Seconds that an unused connection of a client is kept open.',
  }),
  edge_request_timeout: required(integer(0, 86_400), {
    description:
      'Seconds that a client gets to send a whole request, its body included. 0: no limit, for large uploads.',
  }),
  edge_send_timeout: required(integer(1, 86_400), {
    description:
      'Seconds that a client may take none of the bytes of an answer that wait for it, and, after an answer over HTTP/2, go on sending its request.',
  }),
  edge_streams: required(integer(1, 10_000), { description: 'Requests at once on one HTTP/2 connection of a client.' }),
  edge_requests_in_flight: required(integer(0, 1_000_000), {
    description:
      'Requests that one process works on at once, until their answers begin; above it the answer is 503 with Retry-After. Requests with a body get at most three quarters of them. 0: no limit.',
  }),
  edge_streams_in_flight: required(integer(0, 1_000_000), {
    description:
      'Answers under way and WebSockets that one process carries at once; above it new requests get 503 with Retry-After. 0: no limit.',
  }),
  edge_address_share: required(integer(1, 100), {
    description:
      'Percent of edge_requests_in_flight and of edge_streams_in_flight that one client address (IPv6: its /64) may hold once half of them is in use, but at least 64 of each; its further requests get 503 with Retry-After. Clients of trusted_proxies count by their own address; set it to 100, no limit per address, when another proxy stands in front.',
  }),
  edge_scarce_body_rate: required(integer(0, 1_000_000), {
    description:
      'Bytes per second that a client has to send of a request body while half of edge_requests_in_flight are in use; slower requests that have no answer yet get 408. 0: no limit.',
  }),
  edge_connections_per_address: required(integer(0, 1_000_000), {
    description: 'Connections that one client address may have open. 0: no limit.',
  }),
  upstream_connect_timeout: required(integer(1, 600), { description: 'Seconds to reach an upstream.' }),
  upstream_response_timeout: required(integer(1, 86_400), {
    description: 'Seconds from the end of a request until the upstream begins to answer.',
  }),
  upstream_idle_timeout: required(integer(1, 86_400), {
    description: 'Seconds without a byte in either direction while a body is under way.',
  }),
  upstream_allow_cidrs: required(cidrList, {
    description: 'Link-local and metadata address ranges that upstreams may have all the same.',
  }),
  tunnel_listen: required(listenAddress, { description: 'Address that agents dial, over TLS.' }),
  tunnel_tls_cert: required(path, {
    description:
      'PEM file with the certificate chain that agents are shown, or "internal" for a certificate of the internal CA. The file is read again when it changes.',
  }),
  tunnel_tls_key: optional(path, { description: 'PEM file with the private key that belongs to tunnel_tls_cert.' }),
  tunnel_names: required(hostList, {
    description: 'Further names under which agents dial, for the certificate of the internal CA.',
  }),
  tcp_ports: required(portRange, { description: 'Address and ports from which tcp tunnels get theirs.' }),
  region: required(
    text('1 to 32 lower-case letters, digits and dashes', (value) => /^[a-z0-9-]{1,32}$/.test(value)),
    { description: 'Region that tunnels, endpoints and reserved domains show.' },
  ),
  events_allow_cidrs: required(cidrList, {
    description: 'Loopback, private and other special address ranges that event destinations may reach.',
  }),
  events_timeout: required(integer(1, 300), {
    description: 'Seconds that a receiver of events gets to take one, from connecting to the end of its answer.',
  }),
  events_lanes: required(integer(1, 2000), {
    description: 'Pairs of subscription and destination that one process delivers for at once.',
  }),
  events_retry_hours: required(integer(1, 720), {
    description: 'Hours that an event is tried at a destination that cannot be reached before it is dead.',
  }),
  events_suspend_days: required(integer(1, 365), {
    description: 'Days without a single success after which a destination is suspended.',
  }),
  events_delivered_days: required(integer(1, 3650), {
    description: 'Days for which delivered and cancelled deliveries are kept.',
  }),
  events_dead_days: required(integer(1, 3650), {
    description: 'Days for which dead deliveries are kept, to be replayed.',
  }),
  events_pending_days: required(integer(1, 3650), {
    description:
      'Days after which an event that nobody took, because its destination is paused or suspended, is given up.',
  }),
  events_traffic_queue: required(integer(100, 1_000_000), {
    description: 'Events of traffic that may wait in memory to be written; those beyond are dropped and counted.',
  }),
  events_file_bytes: required(integer(1024, 10_737_418_240), {
    description: 'Bytes after which a file of events is moved aside and another begun.',
  }),
  events_file_count: required(integer(0, 1000), {
    description: 'Full files of events that are kept for each destination.',
  }),
  oidc_http_issuers: required(hostList, {
    description: 'Hosts whose OpenID issuer may be plain http. Loopback always may.',
  }),
  agent_issuer_allow_cidrs: required(cidrList, {
    description:
      'Loopback, private and other special address ranges that OpenID issuers named by agents may have, also over plain http where oidc_http_issuers allows it. Empty: https on public addresses only.',
  }),
  oidc_unverified_email_issuers: required(issuerList, {
    description:
      'OpenID issuers, as their modules name them, whose e-mail addresses go upstream although the provider does not say "email_verified": true.',
  }),
  login_outage_hours: required(integer(0, 8760), {
    description:
      'Hours that a login may outlive its last successful refresh while the provider is away (no answer, 429, 5xx). 0 ends it with the first failure.',
  }),
  login_attempts_per_address: required(integer(0, 1_000_000), {
    description:
      'Logins per minute and client address (IPv6: /64) that may fail at the token endpoint, per server. An IPv6 /56 has twice as many, a /48 and an IPv4 /24 four times. 0 is no limit.',
  }),
  login_attempts_per_issuer: required(integer(0, 1_000_000), {
    description:
      'Logins per minute and issuer that may fail at the token endpoint, per server. A quarter is reserved for addresses that have logged in before; networks that failed share half. 0 is no limit.',
  }),
  login_retention_days: required(integer(1, 3650), {
    description: 'Days after which a login that nobody used is forgotten, whatever its module says.',
  }),
  log_level: required(choice(LOG_LEVELS), {
    description: 'The least severe level that is logged. With debug, an error at start shows its stack.',
  }),
  drain_delay: required(integer(0, 600), {
    description:
      'Seconds after SIGTERM or SIGINT for which /healthz answers 503 while connections are still accepted, so that load balancers send no more before the listeners close. More than their health checks take to notice.',
  }),
  shutdown_timeout: required(integer(0, 3600), {
    description:
      'Seconds that requests in flight get to finish once the listeners are closed. WebSockets are closed at once, with status 1001.',
  }),
};

export type SettingName = keyof typeof settings;
export type Config = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends Setting<infer Value> ? Value : never;
};

export const settingNames = Object.keys(settings) as readonly SettingName[];

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settings, name);
}

export function variableOf(name: SettingName): string {
  return `POSTERN_${name.toUpperCase()}`;
}

/** Without its dashes. */
export function flagOf(name: SettingName): string {
  return name.replaceAll('_', '-');
}
