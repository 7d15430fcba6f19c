import type { HeaderList } from '../../lib/http/header-list.ts';
import { HOP_BY_HOP } from '../../lib/http/hop-by-hop.ts';
import { isToken } from '../../lib/http1/header-names.ts';
import { InspectorRefusal } from './inspector-refusal.ts';
import type { KeptExchange } from './kept-exchange.ts';
import type { ReplayEdit } from './replay-body.ts';
import { MASK, maskedValue } from './sensitive-headers.ts';

export interface ReplayRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderList;
  readonly body: Buffer;
}

const REPLAY_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Computed from the body, or specific to the connection: set by hand, they could make one request look like two. */
const COMPUTED: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'host', 'content-length', 'expect']);
const MAX_TARGET_LENGTH = 16_384;
const MAX_HEADERS = 300;
const MAX_HEADER_LENGTH = 65_536;

/** Null when the request can be replayed unchanged; otherwise the reason. */
export function replayProblem(exchange: KeptExchange): string | null {
  return unsupportedProblem(exchange) ?? missingBodyProblem(exchange);
}

/** The request of an exchange with the changes of `edit`. Throws `InspectorRefusal`. */
export function replayRequest(exchange: KeptExchange, edit: ReplayEdit): ReplayRequest {
  const problem = unsupportedProblem(exchange) ?? (edit.body === undefined ? missingBodyProblem(exchange) : null);
  if (problem !== null) throw new InspectorRefusal(409, 'not_replayable', problem);
  return {
    method: edit.method === undefined ? exchange.method : editedMethod(edit.method, exchange.method),
    target: edit.path === undefined ? exchange.request.target : editedTarget(edit.path),
    headers: edit.headers === undefined ? keptHeaders(exchange) : editedHeaders(edit.headers, exchange),
    body: edit.body ?? exchange.requestBody.bytes,
  };
}

function unsupportedProblem(exchange: KeptExchange): string | null {
  return exchange.isWebSocket ? 'a WebSocket cannot be replayed' : null;
}

function missingBodyProblem({ request, requestBody, method, isOver, problem }: KeptExchange): string | null {
  const { totalBytes, bytes, isTruncated } = requestBody;
  const declared = request.contentLength;
  if (isTruncated) return `only ${bytes.length} of the ${totalBytes} bytes of its body are stored`;
  if (declared !== null && totalBytes === declared) return null;
  if (totalBytes === 0 && BODILESS.has(method)) return null;
  if (!isOver) return 'it is still in progress, and its body may be incomplete';
  if (declared !== null) return `only ${totalBytes} of the ${declared} bytes of its body arrived`;
  return problem === null ? null : 'it failed, and its body may be incomplete';
}

function keptHeaders({ request: { headers } }: KeptExchange): HeaderList {
  return headers.filter((_, at) => !COMPUTED.has(headers[at - (at % 2)] as string));
}

function editedMethod(method: string, original: string): string {
  if (REPLAY_METHODS.includes(method) || method === original) return method;
  throw bad(`the method must be one of ${REPLAY_METHODS.join(', ')}`);
}

function editedTarget(path: string): string {
  if (!path.startsWith('/')) throw bad('the path must begin with /');
  if (path.length > MAX_TARGET_LENGTH) throw bad(`the path is longer than ${MAX_TARGET_LENGTH} characters`);
  if (/[^\x21-\x7e]|#/.test(path)) throw bad('the path has a space, a # or another character that must be %-encoded');
  return path;
}

function editedHeaders(given: NonNullable<ReplayEdit['headers']>, exchange: KeptExchange): HeaderList {
  if (given.length > MAX_HEADERS) throw bad(`there are more than ${MAX_HEADERS} headers`);
  const headers: string[] = [];
  let length = 0;
  for (const header of given) {
    const name = header.name.toLowerCase();
    if (!isToken(name)) throw bad(`${JSON.stringify(header.name)} is not a header name`);
    if (COMPUTED.has(name)) throw bad(`the header ${name} is computed and cannot be set`);
    const value = header.value.includes(MASK) ? unmasked(name, header.value, exchange) : header.value.trim();
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw bad(`the value of ${name} has a line break or another character that is not allowed in a header`);
    length += name.length + value.length;
    headers.push(name, value);
  }
  if (length > MAX_HEADER_LENGTH) throw bad(`the headers are longer than ${MAX_HEADER_LENGTH} bytes`);
  return headers;
}

/** A masked value that was not edited stands for the stored one. */
function unmasked(name: string, shown: string, { request: { headers } }: KeptExchange): string {
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    if (headers[at] === name && maskedValue(name, value) === shown.trim()) return value;
  }
  throw bad(`the value of ${name} is masked: leave it unchanged, or enter the whole value`);
}

function bad(message: string): InspectorRefusal {
  return new InspectorRefusal(400, 'bad_edit', message);
}
