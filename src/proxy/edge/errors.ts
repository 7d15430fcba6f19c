import { errorTable } from '../../kit/errors.ts';

/** Errors that the edge itself sends to clients. */
export const edgeErrors = errorTable({
  ERR_POSTERN_BAD_HTTP: {
    status: 400,
    explanation: 'The request is malformed or ambiguous. It was not forwarded, and the connection is closed.',
  },
  ERR_POSTERN_BAD_PATH: {
    status: 400,
    explanation:
      'The request was not forwarded, because of its path. The path has `..` segments, broken escapes or a backslash. Or programs read it differently (docs/reference/routes.md), and a route reads paths or another route could be meant. Or an upstream may take it for the path of a route with different access modules (`ambiguous_paths`). `postern explain` says why.',
  },
  ERR_POSTERN_MISDIRECTED: {
    status: 421,
    explanation:
      'The request is for a host that this connection does not serve, or the requirements of that host have changed. Open another connection.',
  },
  ERR_POSTERN_NO_ROUTE: {
    status: 404,
    explanation: 'The edge has no route for this path, or, over plain HTTP, the server has no site with this host.',
  },
  ERR_POSTERN_NOTHING_HERE: {
    status: 404,
    explanation:
      "No edge and no online tunnel has this host, which is directly below the server's own domain (`domain`). Check the spelling, and that the agent is running.",
  },
  ERR_POSTERN_METHOD_REFUSED: {
    status: 405,
    explanation: 'The edge does not forward this method (TRACE, and CONNECT other than for WebSockets).',
  },
  ERR_POSTERN_REQUEST_TIMEOUT: {
    status: 408,
    explanation:
      'The request, including its body, did not arrive in time (`edge_header_timeout`, `edge_request_timeout`), or its body arrived too slowly under load (`edge_scarce_body_rate`). The connection or stream is closed.',
  },
  ERR_POSTERN_HEADERS_TOO_LARGE: {
    status: 431,
    explanation:
      'The headers or trailers are too large or too many: `edge_header_bytes`, `edge_header_count`, or what the connection to the upstream carries (128 KB, 500 headers, 64 KB in one header over HTTP/2 or a tunnel).',
  },
  ERR_POSTERN_EDGE_BODY_TOO_LARGE: {
    status: 413,
    explanation:
      'A module of the route reads the body of requests before they are forwarded, and this body is larger than the module accepts. Or the request is for the identity host, which accepts 64 KB. The request was not forwarded.',
  },
  ERR_POSTERN_NO_BACKEND: {
    status: 503,
    explanation: 'The route has no enabled backend. Set one with PUT …/backend.',
  },
  ERR_POSTERN_EDGE_OVERLOADED: {
    status: 503,
    explanation:
      'This node has reached its limit of requests (`edge_requests_in_flight`) or streams (`edge_streams_in_flight`), or the address of the client has used its share (`edge_address_share`), or the file descriptors of the node run out. The request was not forwarded: send it again after the seconds in `Retry-After`.',
  },
  ERR_POSTERN_NO_TUNNEL: {
    status: 503,
    explanation:
      'The backend of the route is a tunnel group, and no tunnel with its labels is online: start an agent with those labels. Or the host belongs to the tunnel of an agent, and that agent is offline.',
  },
  ERR_POSTERN_TUNNEL_FULL: {
    status: 503,
    explanation:
      'The agent of the tunnel is online, but all streams of its connections are in use (1,000 each), or the address of the client holds as many of them as are free (docs/reference/limits.md). The request was not forwarded: send it again after the seconds in `Retry-After`. Agents open further connections when three quarters of their streams are in use. A second agent with the same labels adds as many.',
  },
  ERR_POSTERN_NODE_ISOLATED: {
    status: 503,
    explanation:
      'The host belongs to the tunnel of an agent, and this node can reach neither the database nor all other nodes: it cannot know whether the host still belongs to that agent. Other nodes serve it. The request was not forwarded: send it again, and check the connection of this node to the database (`GET /healthz?verbose`).',
  },
  ERR_POSTERN_NODE_BEHIND: {
    status: 503,
    explanation:
      'This node stood still for more than a second (its process was stopped, or its machine suspended), and within two seconds could not learn from the database or another node what was changed meanwhile. The request was not forwarded: send it again.',
  },
  ERR_POSTERN_UPSTREAM_UNREACHABLE: {
    status: 502,
    explanation:
      'The upstream cannot be reached: it refused the connection, its name did not resolve, or its TLS certificate was rejected.',
  },
  ERR_POSTERN_UPSTREAM_BROKEN: {
    status: 502,
    explanation:
      'The upstream closed the connection, or sent a response that is not valid HTTP or whose headers are too large: more than 128 KB, 500 headers or 20 informational responses, or more than 64 KB in one header over HTTP/2 or a tunnel.',
  },
  ERR_POSTERN_CLIENT_HEADER_LIMIT: {
    status: 502,
    explanation:
      'The headers of the response are larger than the client has announced to accept over HTTP/2 (SETTINGS_MAX_HEADER_LIST_SIZE): raise that limit in the client. The upstream did nothing wrong.',
  },
  ERR_POSTERN_UPSTREAM_FULL: {
    status: 503,
    explanation:
      'No local port is left for another connection to the upstream, or the address of the client has as many connections to upstreams in use as file descriptors, or local ports for this upstream, are free (docs/reference/limits.md). The request was not forwarded: send it again after the seconds in `Retry-After`. HTTP/2 upstreams need a connection for a hundred requests only.',
  },
  ERR_POSTERN_UPSTREAM_TIMEOUT: { status: 504, explanation: 'The upstream did not respond in time.' },
  ERR_POSTERN_EDGE_INTERNAL: {
    status: 500,
    explanation: 'An internal error at the edge. Nothing was forwarded. The log has a line with the request id.',
  },
});

export type EdgeErrorCode = Extract<keyof typeof edgeErrors.rows, string>;
