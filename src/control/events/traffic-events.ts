import type { JsonObject } from '../../kit/json.ts';
import type { RawConnectionFacts, RequestFacts } from '../../proxy/telemetry/traffic-facts.ts';
import type { EventRecorder } from './event-recorder.ts';

export const REQUEST_COMPLETE = 'http_request_complete.v0';
export const CONNECTION_CLOSED = 'tcp_connection_closed.v0';

/** Never reported: login paths and the like carry codes and states. */
const OWN_PATHS = '/.postern/';

/** Copied field by field, so that nothing else of the caller's object leaks: no header and no query. */
export function requestObject(facts: RequestFacts, node: string): JsonObject | null {
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
    node,
    tunnel_node: facts.tunnel_node ?? null,
    user_id: facts.user ?? null,
    auth_kind: facts.auth_kind ?? null,
    access: facts.access ?? null,
    access_rule: facts.access_rule ?? null,
    bytes_in: facts.bytes_in,
    bytes_out: facts.bytes_out,
    duration_ms: facts.ms,
    error_code: facts.error_code ?? null,
    refused_by: facts.refused_by ?? null,
    answered_by: facts.answered_by ?? null,
    would_refuse_by: facts.would_refuse_by ?? null,
    ...Object.fromEntries(Object.entries(facts.decisions ?? {}).map(([name, said]) => [`${name}.decision`, said])),
  };
}

export function connectionObject(connectionId: string, facts: RawConnectionFacts, node: string): JsonObject {
  return {
    connection_id: connectionId,
    proto: facts.proto,
    address: facts.localAddress,
    client_ip: facts.clientAddress,
    tunnel_id: facts.tunnelId,
    endpoint_id: facts.endpointId,
    node,
    tunnel_node: facts.tunnelNode,
    bytes_in: facts.bytesIn,
    bytes_out: facts.bytesOut,
    duration_ms: Math.round(facts.seconds * 1000),
    error: facts.outcome === 'done' ? null : facts.outcome,
  };
}

/** Passed to the edge. The edge checks first, so that nobody collects facts without a subscription. */
export interface TrafficReporter {
  wantsRequests(): boolean;
  requestComplete(facts: RequestFacts): void;
  wantsConnections(): boolean;
  connectionClosed(connectionId: string, facts: RawConnectionFacts): void;
  /** A module reports an event of a type that it declares. */
  moduleEvent(type: string, object: JsonObject): void;
}

/** `node`: this node's name. */
export function createTrafficReporter(recorder: EventRecorder, node: string): TrafficReporter {
  return {
    wantsRequests: () => recorder.isWanted(REQUEST_COMPLETE),
    requestComplete: (facts) => {
      const object = requestObject(facts, node);
      if (object !== null) recorder.record(REQUEST_COMPLETE, object);
    },
    wantsConnections: () => recorder.isWanted(CONNECTION_CLOSED),
    connectionClosed: (id, facts) => recorder.record(CONNECTION_CLOSED, connectionObject(id, facts, node)),
    moduleEvent: (type, object) => recorder.record(type, { ...object, node }),
  };
}
