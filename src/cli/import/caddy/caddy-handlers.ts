import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { unknownFields } from '../import-report.ts';

/** Fields of handlers that were understood, or cannot restrict access. */
const KNOWN: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['subroute', new Set(['handler', 'routes', 'errors'])],
  ['static_response', new Set(['handler', 'status_code', 'body', 'headers', 'close', 'abort'])],
  [
    'reverse_proxy',
    new Set([
      'handler',
      'upstreams',
      'transport',
      'load_balancing',
      'health_checks',
      'circuit_breaker',
      'flush_interval',
      'buffer_requests',
      'buffer_responses',
      'max_buffer_size',
      'request_buffers',
      'response_buffers',
      'stream_timeout',
      'stream_close_delay',
      'trusted_proxies',
      'verbose_logs',
      'headers',
    ]),
  ],
]);
/** Request headers that Postern sets by itself. */
const OWN_HEADERS = ['host', 'x-forwarded-proto', 'x-forwarded-host'];

/** Why a host with this handler cannot be served, or null. forward_auth is a reverse_proxy with handle_response. */
export function notUnderstood(name: string, handler: JsonObject): string | null {
  const known = KNOWN.get(name);
  const [unknown] = known === undefined ? [] : unknownFields(handler, known);
  if (unknown !== undefined) return `${name} with ${unknown} may refuse requests`;
  const { transport = {}, status_code: status = 200, pass_thru: passes = false } = handler;
  if (name === 'reverse_proxy' && !isJsonObject(transport)) return 'transport has an unexpected shape';
  if (name === 'static_response' && !/^[1-5]\d\d$/.test(String(status as number))) return 'its status is not a number';
  return name === 'file_server' && passes !== false ? 'file_server passes requests on' : null;
}

/** The operations on request headers without those that Postern does by itself. */
export function withoutOwnHeaders(operations: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(operations) || !isJsonObject(operations['set'])) return operations;
  const set = Object.entries(operations['set']).filter(([name]) => !OWN_HEADERS.includes(name.toLowerCase()));
  return { ...operations, set: Object.fromEntries(set) as JsonObject };
}
