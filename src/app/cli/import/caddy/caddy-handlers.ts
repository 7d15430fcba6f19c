import { isAuthority } from '../../../../kit/http/urls.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { modules } from '../../../../modules/registry.ts';
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

/**
 * The operations on request headers without those that Postern does by itself, and with the address of the only
 * upstream.
 */
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

/** Changes of headers as the modules for headers write them. */
export interface HeaderChanges {
  readonly add: Readonly<Record<string, string>>;
  readonly remove: readonly string[];
}

type HeaderModule = 'request_headers' | 'response_headers';

export const NO_CHANGES: HeaderChanges = { add: {}, remove: [] };
/** The values of these headers are secrets, which a configuration file does not have. */
const SECRET = ['authorization', 'cookie'];

/** With those of a handler, or the same object if it has none; null: the module would not do the same. */
export function withOperations(
  module: HeaderModule,
  before: HeaderChanges,
  operations: JsonValue | undefined,
): HeaderChanges | null {
  const { add, remove } = before;
  const next = operations === undefined ? NO_CHANGES : changesOf(operations);
  if (next === null) return null;
  if (Object.keys(next.add).length + next.remove.length === 0) return before;
  const names = [...Object.keys(add), ...remove];
  // Caddy applies them one after the other.
  if ([...Object.keys(next.add), ...next.remove].some((name) => names.includes(name))) return null;
  const changes = { add: { ...add, ...next.add }, remove: [...remove, ...next.remove] };
  return isAccepted(module, changes) ? changes : null;
}

function changesOf(operations: JsonValue): HeaderChanges | null {
  if (!isJsonObject(operations)) return null;
  const { add = {}, set = {}, delete: deleted = [], ...others } = operations;
  if (Object.keys(others).length > 0 || !isJsonObject(add) || !isJsonObject(set) || !Array.isArray(deleted))
    return null;
  const [added, replaced] = [literals(add), literals(set)];
  const removed = (deleted as readonly JsonValue[]).map((name) =>
    typeof name === 'string' ? name.toLowerCase() : '*',
  );
  if (added === null || replaced === null) return null;
  const names = [...added.keys(), ...replaced.keys(), ...removed];
  // A name twice depends on the order, one with "*" stands for several, and Caddy adds these after it has removed them.
  if (new Set(names).size < names.length || names.some((name) => /\*|^(?:x-)?forwarded|^x-real-ip$/.test(name)))
    return null;
  return { add: Object.fromEntries([...added, ...replaced]), remove: [...removed, ...replaced.keys()] };
}

/** Names in lower case with their one value. */
function literals(values: JsonObject): ReadonlyMap<string, string> | null {
  const found = new Map<string, string>();
  for (const [name, list] of Object.entries(values)) {
    const [value, ...more] = Array.isArray(list) ? (list as readonly JsonValue[]) : [null];
    const lower = name.toLowerCase();
    const isPlain = typeof value === 'string' && !value.includes('{') && more.length === 0;
    if (!isPlain || SECRET.includes(lower) || found.has(lower)) return null;
    found.set(lower, value);
  }
  return found;
}

function isAccepted(module: HeaderModule, changes: HeaderChanges): boolean {
  if (Object.keys(changes.add).length > 10 || changes.remove.length > 10) return false;
  // The module leaves out another, and the service would get the host that the visitor asked for.
  const { host } = changes.add;
  if (host !== undefined && !isAuthority(host)) return false;
  const problems = modules
    .find(({ name }) => name === module)
    ?.check?.({ enabled: true, ...changes } as never, { settings: {} as never });
  return problems?.length === 0;
}
