import type { RequestFacts } from '../../telemetry/traffic-facts.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { UnreadRefusal } from '../edge-runtime.ts';
import type { Exchange } from '../exchange/exchange.ts';

export const UNKNOWN_NAME = 'edge:no_site_for_this_name';

/** One line per request: ids, request, response and duration. No headers, no query, no cookies. */
export function accessLine(exchange: Exchange, seconds: number): RequestFacts {
  return {
    request_id: exchange.id,
    method: exchange.method,
    host: exchange.host,
    path: exchange.path,
    status: exchange.status,
    client: exchange.clientAddress,
    edge: exchange.route?.edgeId ?? null,
    route: exchange.route?.id ?? null,
    upstream: exchange.targetName,
    ...(exchange.tunnelNode !== null && { tunnel_node: exchange.tunnelNode }),
    bytes_in: exchange.bytesIn,
    bytes_out: exchange.bytesOut,
    ms: Math.round(seconds * 1e5) / 100,
    ...(exchange.permit !== null && { user: exchange.permit.userId, auth_kind: exchange.permit.identity.kind }),
    ...accessFacts(exchange),
    ...(exchange.errorCode !== null && { error_code: exchange.errorCode }),
    ...(exchange.refusedBy !== null && { refused_by: exchange.refusedBy }),
    ...(exchange.answeredBy !== null && { answered_by: exchange.answeredBy }),
    ...(exchange.wouldRefuseBy !== null && { would_refuse_by: exchange.wouldRefuseBy }),
  };
}

const PASSED = {};

/** What access rules decided, unless they let it pass. */
function accessFacts({ refusingRule, wouldRefuse }: Exchange): Pick<RequestFacts, 'access' | 'access_rule'> {
  if (refusingRule !== undefined) return { access: 'refused', access_rule: refusingRule ?? 'none' };
  return wouldRefuse === null ? PASSED : { access: 'would_refuse', access_rule: wouldRefuse.rule ?? 'none' };
}

/** For a request that could not be parsed: nothing that it claims is repeated. */
export function unreadLine(
  { edgeId, remoteAddress }: ConnectionFacts,
  { id, status, code, bytesOut, host = null }: Omit<UnreadRefusal, 'host'> & { readonly host?: string | null },
): Record<string, unknown> {
  return {
    request_id: id,
    method: null,
    host,
    path: null,
    status,
    client: remoteAddress,
    // Over plain HTTP only a request names its host.
    edge: edgeId === '' ? null : edgeId,
    route: null,
    upstream: null,
    bytes_in: 0,
    bytes_out: bytesOut,
    ms: 0,
    error_code: code,
    refused_by: host === null ? `edge:${unreadReason(code)}` : UNKNOWN_NAME,
  };
}

/** `bad_http` of `ERR_POSTERN_BAD_HTTP`. */
export function unreadReason(code: UnreadRefusal['code']): string {
  return code.slice('ERR_POSTERN_'.length).toLowerCase();
}
