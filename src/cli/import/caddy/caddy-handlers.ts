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
/** Request headers that Postern sets by itself, with the values that it gives them. */
const OWN_HEADERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['host', ['{http.request.host}', '{http.request.hostport}']],
  ['x-forwarded-proto', ['{http.request.scheme}', 'https']],
  ['x-forwarded-host', ['{http.request.host}', '{http.request.hostport}']],
]);
const UPSTREAM = /^\{http\.reverse_proxy\.upstream\.(hostport|host|address)\}$/;

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

/** The operations on request headers without those that Postern does by itself, and with the address of the only upstream. */
export function withoutOwnHeaders(
  operations: JsonValue | undefined,
  upstreams: JsonValue | undefined,
): JsonValue | undefined {
  if (!isJsonObject(operations) || !isJsonObject(operations['set'])) return operations;
  const [upstream, ...others] = Array.isArray(upstreams) ? (upstreams as readonly JsonValue[]) : [];
  const dial = others.length === 0 && isJsonObject(upstream) ? upstream['dial'] : null;
  const set = Object.entries(operations['set']).flatMap(([name, values]): [string, JsonValue][] => {
    const [value, ...more] = Array.isArray(values) ? (values as readonly JsonValue[]) : [null];
    if (typeof value !== 'string' || more.length > 0) return [[name, values as JsonValue]];
    if (OWN_HEADERS.get(name.toLowerCase())?.includes(value) === true) return [];
    const [, part] = UPSTREAM.exec(value) ?? [];
    if (part === undefined || typeof dial !== 'string') return [[name, values as JsonValue]];
    const address = dial.replace(/^tcp\//, '');
    return [[name, [part === 'host' ? address.replace(/:\d+$/, '') : address]]];
  });
  return { ...operations, set: Object.fromEntries(set) as JsonObject };
}
