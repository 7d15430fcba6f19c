import {
  boolean,
  dialledAddress,
  duration,
  hinted,
  integer,
  listenAddressOrOff,
  optional,
  required,
  text,
  textList,
} from '../../kit/settings/setting.ts';

/** Settings of a node among others. */
export const nodeSettings = {
  node_name: optional(
    hinted(
      'NAME',
      text('1 to 64 letters, digits, dots, hyphens and underscores', (value) => /^[A-Za-z0-9._-]{1,64}$/.test(value)),
    ),
    { description: 'Name of this node in GET /nodes, in metrics and in log lines. Unset: the host name.' },
  ),
  peer_listen: optional(listenAddressOrOff, {
    description:
      'Listen address for the other nodes on the same PostgreSQL database, over mutual TLS, or "off". Unset: 127.0.0.1:7445, or a free port if that one is in use. Nodes on several machines need an address that the others reach. Not used with SQLite.',
  }),
  peer_address: optional(dialledAddress, {
    description:
      'Address at which the other nodes dial this one. Unset: the address of peer_listen; for a wildcard such as 0.0.0.0, the local address that reaches the database.',
  }),
  tunnel_address: optional(dialledAddress, {
    description:
      'Address at which agents dial this node, named to agents of the other nodes so that they keep a connection to two nodes. Unset: none, for nodes behind a load balancer.',
  }),
};

/** These headers carry passwords, tokens and logins. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

const keptHeaders = textList(
  'lowercase header names, except authorization, cookie and proxy-authorization',
  (value) => /^[a-z0-9_-]{1,64}$/.test(value) && !SECRET_HEADERS.has(value),
);

/** Settings of the access log and the request history. */
export const requestSettings = {
  access_log: required(boolean, {
    description: 'Log one line per request at the edge, without headers or query.',
  }),
  request_history: required(integer(0, 100_000), {
    description:
      'Number of finished requests that each node keeps in memory for GET /requests, at most 16 MiB of them. 0: none.',
  }),
  request_history_file: required(boolean, {
    description:
      'Keep the requests and the traffic of the last hour in a file of the data directory with mode 0600, so that a restart does not forget them. It has what GET /requests shows, at most 2,000 requests and 16 MiB, and is written once a minute.',
  }),
  request_history_headers: required(hinted('NAME,…', keptHeaders), {
    description:
      'Request headers to keep in the request history, each up to 512 characters. authorization, cookie and proxy-authorization are never kept.',
  }),
  request_history_query: required(boolean, {
    description:
      'Keep the query of each URL in the request history. Queries often contain tokens and personal data. Those of paths below /.postern/ are never kept.',
  }),
  request_id_header: required(boolean, {
    description:
      'Add the Postern-Request-Id header to responses of upstreams. Responses of the edge itself always have it.',
  }),
};

/** How long history stays, and from when something that is wrong raises an alert. */
export const upkeepSettings = {
  history_max_age: required(duration('days', 0, 100_000), {
    description: 'Time for which changes stay in the history. 0: no limit.',
  }),
  history_max_entries: required(integer(0, 100_000_000), {
    description: 'Number of changes that stay in the history. 0: no limit.',
  }),
  alert_agent_away: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which an agent that was connected and is away raises an alert. 0: no such alert.',
  }),
  alert_backend_failing: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which a backend raises an alert, if at least half of its requests fail. 0: no such alert.',
  }),
  alert_certificate_days: required(duration('days', 0, 10_000), {
    description:
      'Time before its expiry from which a certificate raises an alert. 0: no alerts about certificates, also not about those that an ACME server does not issue.',
  }),
  alert_delivery_stuck: required(duration('seconds', 0, 10_000_000), {
    description: 'Time after which events that wait for a destination raise an alert. 0: no such alert.',
  }),
  alert_descriptor_percent: required(integer(0, 100), {
    description:
      'Share of the file descriptors that the process may open, in percent, from which it raises an alert. 0: no such alert.',
  }),
  alert_disk_percent: required(integer(0, 100), {
    description: "Share of the data directory's disk, in percent, from which it raises an alert. 0: no such alert.",
  }),
  alert_node_lost: required(duration('seconds', 0, 500), {
    description:
      'Time after which a node that ended without a farewell raises an alert. 0: no such alert. Nodes that are stopped raise none.',
  }),
};
