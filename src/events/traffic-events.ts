import type { JsonObject } from '../lib/json.ts';
import type { RequestFacts } from '../lib/request-facts.ts';

export const REQUEST_COMPLETE = 'http_request_complete.v0';
export const CONNECTION_CLOSED = 'tcp_connection_closed.v0';

/** Never reported: login paths and the like carry codes and states. */
const OWN_PATHS = '/.postern/';

export interface ConnectionFacts {
  readonly connection_id: string;
  readonly proto: 'tcp' | 'tls';
  /** `host:port` that the client connected to. */
  readonly address: string;
  readonly client: string;
  readonly tunnel: string | null;
  readonly endpoint: string | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly ms: number;
  readonly error?: string;
}

/** Copied field by field, so that nothing else of the caller's object leaks: no header and no query. */
export function requestObject(facts: RequestFacts): JsonObject | null {
  if (facts.path.startsWith(OWN_PATHS)) return null;
  return {
    request_id: facts.request_id,
    method: facts.method,
    host: facts.host,
    path: facts.path.split('?', 1)[0] ?? '',
    status: facts.status,
    client_ip: facts.client,
    edge_id: facts.edge,
    route_id: facts.route,
    upstream: facts.upstream,
    user_id: facts.user ?? null,
    bytes_in: facts.bytes_in,
    bytes_out: facts.bytes_out,
    duration_ms: facts.ms,
    error_code: facts.error_code ?? null,
    refused_by: facts.refused_by ?? null,
  };
}

export function connectionObject(facts: ConnectionFacts): JsonObject {
  return {
    connection_id: facts.connection_id,
    proto: facts.proto,
    address: facts.address,
    client_ip: facts.client,
    tunnel_id: facts.tunnel,
    endpoint_id: facts.endpoint,
    bytes_in: facts.bytes_in,
    bytes_out: facts.bytes_out,
    duration_ms: facts.ms,
    error: facts.error ?? null,
  };
}
