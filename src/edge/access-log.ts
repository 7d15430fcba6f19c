import type { Exchange } from './exchange.ts';

/** One line per request: ids, what was asked and answered, how long it took. No headers, no query, no cookies. */
export function accessLine(exchange: Exchange, seconds: number): Record<string, unknown> {
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
    bytes_in: exchange.bytesIn,
    bytes_out: exchange.bytesOut,
    ms: Math.round(seconds * 1e5) / 100,
    ...(exchange.errorCode !== null && { error_code: exchange.errorCode }),
    ...(exchange.refusedBy !== null && { refused_by: exchange.refusedBy }),
  };
}
