import { isAbsolute } from 'node:path';
import {
  boolean,
  choice,
  choiceList,
  cidrList,
  domainName,
  duration,
  headerNameList,
  hinted,
  hostList,
  hostPatternList,
  httpUrl,
  integer,
  integerOrAuto,
  listenAddress,
  listenAddresses,
  optional,
  originList,
  portList,
  portRange,
  postgresUrl,
  presetToken,
  required,
  type Setting,
  type SettingRows,
  type SettingValues,
  secretKeys,
  text,
  textList,
} from '../../kit/settings/setting.ts';
import { moduleSettingRows } from '../../modules/declared-settings.ts';
import type { ModuleSettings } from '../../modules/module-settings.ts';
import { acmeSettings } from './acme-settings.ts';
import { consoleSettings } from './console-settings.ts';
import { identitySettings } from './identity-settings.ts';
import { nodeSettings, requestSettings, upkeepSettings } from './node-settings.ts';
import { tracingSettings } from './tracing-settings.ts';

export { flagOf, variableOf } from '../../kit/settings/setting.ts';

/** `api` is accepted and changes nothing: every process serves the API, which also answers /healthz and /metrics. */
const ROLES = ['api', 'edge', 'gateway', 'events'] as const;
const METRICS_LEVELS = ['route', 'edge', 'process'] as const;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

const AMBIGUOUS_PATHS = ['refuse', 'pass'] as const;

const path = hinted('PATH', text('a path'));
const pathList = hinted(
  'PATH,…',
  textList('absolute paths', (value) => isAbsolute(value)),
);

/** The program's own settings, in the order of the documentation. The key is the name in the YAML file. */
const ownSettings = {
  data_dir: required(path, {
    description:
      'Directory for the SQLite file, the internal CAs and the generated keys. Created with mode 0700. A relative path is relative to the working directory.',
  }),
  database_url: optional(postgresUrl, {
    description:
      'URL of the PostgreSQL database that holds the store. Unset: SQLite in the data directory. Several servers of one cluster are separated by commas (postgres://USER:PASSWORD@HOST1:PORT,HOST2:PORT/DATABASE): the server uses the one that accepts writes, never a standby.',
    secrecy: 'password',
  }),
  database_migrate_under_old_nodes: required(boolean, {
    description:
      'Migrate the PostgreSQL tables at startup even while nodes of an older version are connected. The old nodes keep serving from memory and reject writes. When false, a server that has to migrate refuses to start until they have stopped.',
  }),
  secret_key: optional(secretKeys, {
    description:
      'Key that encrypts secrets at rest: 32 bytes in base64. Unset: generated on the first start and stored in the data directory with mode 0600.',
    secrecy: 'secret',
  }),
  roles: required(choiceList(ROLES), {
    description: 'Roles of this node. Every node serves the API, with or without api in this list.',
  }),
  api_listen: required(listenAddress, {
    description:
      'Listen address of the management API, which also serves /healthz, /metrics, /openapi.json and /docs. A non-loopback address requires api_tls_cert.',
  }),
  api_url: optional(httpUrl, {
    description:
      'URL at which clients reach the API; every uri in a response starts with it. Unset: derived from the listener. Commands read POSTERN_CLI_API_URL instead.',
  }),
  api_tls_cert: optional(path, {
    description:
      'PEM file with the certificate chain of the API listener, or "internal" for a certificate from the internal CA. Unset: plain HTTP, on loopback only. The file is reloaded when it changes.',
  }),
  api_tls_key: optional(path, { description: 'PEM file with the private key for api_tls_cert.' }),
  metrics_level: required(choice(METRICS_LEVELS), {
    description: 'Granularity of the traffic metrics: route (about 19 series for each route), edge, or process.',
  }),
  api_metrics_open: required(boolean, {
    description: 'Serve /metrics without an API key. Otherwise it needs a key with the scope metrics:read.',
  }),
  api_cors_origins: required(originList, {
    description:
      'Origins of web pages that may use the API from a browser with an API key of their own (CORS), such as https://admin.example.com. Empty: none. Cookies are never accepted from them. Anyone who can change such a page can use every key that is entered there.',
  }),
  api_behind_edge: required(boolean, {
    description:
      'Let static backends lead to the API of this server, which is forbidden otherwise, to publish the console at a host of the edge. The API then sees the address of the edge as that of all its clients. "postern up --console HOST" sets it, together with api_url, and puts the host behind a login.',
  }),
  api_rate_limit: required(integer(0, 1_000_000), {
    description: 'Requests per second allowed for each API key; requests above the limit get 429. 0: no limit.',
  }),
  ...upkeepSettings,
  api_key: optional(presetToken, {
    description:
      'The first API key. Used only while the store has none; the start says what was done with it. Unset: generated, and written to a file in the data directory. Commands read POSTERN_CLI_API_KEY instead.',
    secrecy: 'secret',
  }),
  authtoken: optional(presetToken, {
    description: 'The first agent token. Used only while the store has none. Unset: generated, like the API key.',
    secrecy: 'secret',
  }),
  domain: required(domainName, {
    description:
      'Domain below which agents get names, such as https://calm-otter-k3v9x2aqhm.example.com. The internal CA that people are asked to trust can issue certificates for this domain only.',
  }),
  edge_listen: required(listenAddresses, {
    description:
      'Listen address of the HTTPS edge, or several: 0.0.0.0:443,[::]:443. URLs have the port of the first. [::] also accepts IPv4, unless the list has an IPv4 address with the same port. The server starts only if it can open all of them.',
  }),
  edge_http_listen: required(listenAddresses, {
    description:
      'Listen address of the plain HTTP edge, or several, as for edge_listen. It redirects requests for the hosts of edges to HTTPS and rejects all others.',
  }),
  ...requestSettings,
  ...tracingSettings,
  workers: required(integerOrAuto(1, 64), {
    description:
      'Threads that serve visitors. 1: the thread of the server does it. auto: one for each core, at most 8.',
  }),
  trusted_proxies: required(cidrList, {
    description: 'Address ranges of proxies in front of the edge whose X-Forwarded-For header is trusted. Empty: none.',
  }),
  proxy_protocol_from: required(cidrList, {
    description:
      'Address ranges of load balancers that start each connection with a PROXY protocol header (version 1 or 2). From these addresses the header is required, on the listeners of the edge, on the gateway and on the ports of TCP tunnels, and the address in it is the client address. From all other addresses the header is refused. Empty: none. The API listener does not use it.',
  }),
  ambiguous_paths: required(choice(AMBIGUOUS_PATHS), {
    description:
      'How to handle a path that the upstream may interpret as the path of a route with different access modules, such as /ADMIN next to a protected /admin. "refuse" returns 400; "pass" forwards it through the route that it matches literally.',
  }),
  ambiguous_paths_pass_hosts: required(hostPatternList, {
    description:
      'Hosts that accept ambiguous paths even when ambiguous_paths is "refuse": names, or wildcards such as *.example.com.',
  }),
  drop_request_headers: required(headerNameList, {
    description:
      'Client headers that the edge removes before it forwards a request, because upstreams commonly trust them: names, or prefixes that end in "*". A value replaces the whole list. Headers that the edge itself sets are always removed. See docs/reference/headers.md.',
  }),
  forwarded_header: required(boolean, { description: 'Also send the Forwarded header (RFC 7239) to upstreams.' }),
  hsts_max_age: required(duration('seconds', 0, 315_360_000), {
    description:
      'Time for which browsers use only HTTPS for a host after a response of the HTTPS edge (Strict-Transport-Security, RFC 6797). The header goes on every HTTPS response that does not have one from the upstream, except for localhost. 0: no header. Browsers cannot be told to forget it early, except over HTTPS.',
  }),
  hsts_include_subdomains: required(boolean, {
    description:
      'Add includeSubDomains to that header: it then covers all names below each host, also on other servers.',
  }),
  hsts_preload: required(boolean, {
    description:
      'Add preload to that header, as browser preload lists require. Needs hsts_include_subdomains, and an hsts_max_age of at least 31536000.',
  }),
  edge_host_ports: required(portList, {
    description:
      'Ports accepted in the Host header of a request to either edge listener; any other port gets 400. Empty: every port, because the edge cannot know the port mappings in front of it. A request without a port is always accepted. Addresses of new sites have the first of these ports, or 443 if it is listed.',
  }),
  edge_header_bytes: required(integer(1024, 1_048_576), { description: 'Maximum size of a request head, in bytes.' }),
  edge_header_count: required(integer(10, 2000), {
    description:
      'Maximum number of header lines in a request. All cookies are one line, however a client splits them over HTTP/2, up to 1,000 fields.',
  }),
  edge_header_timeout: required(duration('seconds', 1, 600, { hasFractions: true }), {
    description: 'Time a client has to send the head of a request.',
  }),
  edge_idle_timeout: required(duration('seconds', 1, 3600, { hasFractions: true }), {
    description:
      'Time an idle client connection stays open, and a WebSocket without data after one end has closed it and the other has not.',
  }),
  edge_request_timeout: required(duration('seconds', 0, 86_400, { hasFractions: true }), {
    description: 'Time a client has to send a complete request, including its body. 0: no limit, for large uploads.',
  }),
  edge_send_timeout: required(duration('seconds', 1, 86_400, { hasFractions: true }), {
    description:
      'Time a client may read nothing while response data is waiting. Over HTTP/2, also the time for which a client may continue to send its request after the response has ended.',
  }),
  edge_streams: required(integer(1, 10_000), {
    description: 'Maximum number of concurrent requests on one HTTP/2 client connection.',
  }),
  edge_requests_in_flight: required(integer(0, 1_000_000), {
    description:
      'Maximum number of requests on this node that wait for their response to begin; requests above the limit get 503 with Retry-After. Requests with a body can use at most three quarters of the limit. 0: no limit.',
  }),
  edge_streams_in_flight: required(integer(0, 1_000_000), {
    description:
      'Maximum number of responses in progress and WebSockets on this node; requests above the limit get 503 with Retry-After. 0: no limit.',
  }),
  edge_address_share: required(integer(1, 100), {
    description:
      'Percentage of edge_requests_in_flight and of edge_streams_in_flight that one client address (IPv6: its /64) may use once half of the limit is in use, but at least 64 of each; further requests from that address get 503 with Retry-After. Clients behind trusted_proxies are counted by their own address. Behind a proxy that is not trusted, set it to 100, which disables the limit per address.',
  }),
  edge_scarce_body_rate: required(integer(0, 1_000_000), {
    description:
      'Minimum rate of a request body, in bytes per second, while at least half of edge_requests_in_flight is in use; slower requests without a response get 408. 0: no limit.',
  }),
  edge_connections_per_address: required(integer(0, 1_000_000), {
    description: 'Maximum number of open connections per client address. 0: no limit.',
  }),
  upstream_connect_timeout: required(duration('seconds', 0.01, 600, { hasFractions: true }), {
    description: 'Time to establish a connection to an upstream.',
  }),
  upstream_response_timeout: required(duration('seconds', 1, 86_400, { hasFractions: true }), {
    description: 'Time from the end of a request until the upstream begins its response.',
  }),
  upstream_idle_timeout: required(duration('seconds', 1, 86_400, { hasFractions: true }), {
    description: 'Time without a byte in either direction while a body is being transferred.',
  }),
  upstream_allow_cidrs: required(cidrList, {
    description: 'Link-local and metadata address ranges that upstreams may use. They are blocked by default.',
  }),
  file_roots: required(pathList, {
    description:
      'Folders that "files" backends may serve, with everything below them, such as /srv/www. Empty: none. The data directory is never served, and no symbolic link leads out of a served folder.',
  }),
  sites: optional(path, {
    description:
      'File or directory in the format of "postern apply". The server applies it to itself at its start and on SIGHUP, in one change, and removes what an earlier one had, once nobody has written to it for a second. A file with a mistake changes nothing and is a problem. Not for several nodes: use "postern apply".',
  }),
  sites_may_shrink: required(boolean, {
    description:
      'Whether the file of sites may leave less than half of the sites that it had. Otherwise such a file, which may have been truncated, waits for "postern apply -f FILE --prune --owner postern-server".',
  }),
  certificate_file_dirs: required(pathList, {
    description:
      'Directories from which TLS certificates may name files (certificate_file and private_key_file), such as /etc/letsencrypt. Empty: none.',
  }),
  ...acmeSettings,
  tunnel_listen: required(listenAddress, {
    description: 'Listen address of the gateway, which accepts agents over TLS.',
  }),
  tunnel_tls_cert: required(path, {
    description:
      'PEM file with the certificate chain presented to agents, or "internal" for a certificate from the internal CA. The file is reloaded when it changes.',
  }),
  tunnel_tls_key: optional(path, { description: 'PEM file with the private key for tunnel_tls_cert.' }),
  tunnel_names: required(hostList, {
    description: 'Additional names that agents dial. The certificate from the internal CA includes them.',
  }),
  tcp_ports: required(portRange, { description: 'Address and port range for TCP tunnels.' }),
  region: required(
    hinted(
      'NAME',
      text('1 to 32 lowercase letters, digits and hyphens', (value) => /^[a-z0-9-]{1,32}$/.test(value)),
    ),
    { description: 'Region reported by tunnels, endpoints and reserved domains.' },
  ),
  ...nodeSettings,
  ...consoleSettings,
  ...identitySettings,
  events_allow_cidrs: required(cidrList, {
    description:
      'Loopback, private and other special-purpose address ranges that event destinations may use. They are blocked by default.',
  }),
  events_timeout: required(duration('seconds', 1, 300, { hasFractions: true }), {
    description: 'Time allowed for one delivery attempt, from connecting to the end of the response.',
  }),
  events_lanes: required(integer(1, 2000), {
    description: 'Number of subscription-destination pairs that one node delivers to concurrently.',
  }),
  events_retry_hours: required(duration('hours', 1, 720), {
    description: 'Time to retry delivery to an unreachable destination before the delivery is dead.',
  }),
  events_suspend_days: required(duration('days', 1, 365), {
    description:
      'Time for which deliveries must fail, at least ten attempts and none delivered, before a destination is suspended.',
  }),
  events_delivered_days: required(duration('days', 1, 3650), {
    description: 'Time to keep delivered and cancelled deliveries.',
  }),
  events_dead_days: required(duration('days', 1, 3650), {
    description: 'Time to keep dead deliveries, which can be replayed.',
  }),
  events_pending_days: required(duration('days', 1, 3650), {
    description: 'Time after which a pending delivery to a paused or suspended destination is abandoned.',
  }),
  events_traffic_queue: required(integer(100, 1_000_000), {
    description:
      'Maximum number of traffic events that wait in memory to be written; events above the limit are dropped and counted.',
  }),
  events_file_bytes: required(integer(1024, 10_737_418_240), {
    description: 'Size in bytes at which an event file is rotated.',
  }),
  events_file_count: required(integer(0, 1000), {
    description: 'Number of rotated event files to keep for each destination.',
  }),
};

/** These settings come after the modules' settings. */
const processSettings = {
  log_level: required(choice(LOG_LEVELS), {
    description:
      'Minimum level to log: trace, debug, info, warn, error or fatal. With debug, an error at startup includes its stack trace.',
  }),
  drain_delay: required(duration('seconds', 0, 600, { hasFractions: true }), {
    description:
      'Time after SIGTERM or SIGINT during which /healthz returns 503 while connections are still accepted, so that load balancers stop sending requests before the listeners close. Set it longer than their health checks need to detect the change.',
  }),
  shutdown_timeout: required(duration('seconds', 0, 3600, { hasFractions: true }), {
    description:
      'Time for requests in flight to finish after the listeners close. WebSockets last until then if another node is ready, and are closed immediately if none is, with status 1001.',
  }),
};

type OwnRows = typeof ownSettings & typeof processSettings;
/** Names of the program's own settings. */
export type OwnName = keyof OwnRows;

/** Every setting, in the order of the documentation. A module declares its own in its folder. */
const settings: SettingRows = {
  ...ownSettings,
  ...moduleSettingRows,
  ...processSettings,
};

/** The program's own settings by name, and those of each module under the module's name. */
export interface Config extends SettingValues<OwnRows> {
  readonly moduleSettings: ModuleSettings;
}

export const settingNames: readonly string[] = Object.keys(settings);

/** Throws for an unknown name: callers have looked it up, or took it from `settingNames`. */
export function settingOf(name: string): Setting<unknown> {
  const setting = Object.hasOwn(settings, name) ? settings[name] : undefined;
  if (setting === undefined) throw new Error(`there is no setting ${name}`);
  return setting;
}
