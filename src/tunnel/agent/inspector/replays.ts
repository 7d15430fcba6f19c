import { Readable } from 'node:stream';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { type HeaderList, HOP_BY_HOP } from '../../../kit/http/header-values.ts';
import { isToken } from '../../../kit/http1/header-block.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseUniqueJson } from '../../../kit/json.ts';
import type { RequestBody, UpstreamExchange } from '../../../proxy/upstream/upstream.ts';
import { AgentError } from '../errors.ts';
import type { AgentTunnel, ExchangeObserver, TunnelSpec } from '../handle.ts';
import { type LocalAddress, parseLocalAddress } from '../local/local-address.ts';
import { problemText } from '../local/local-failure.ts';
import { openLocal } from '../local/local-service.ts';
import type { ExchangeStore, KeptExchange } from './exchange-store.ts';
import type { InspectorOptions } from './options.ts';
import { InspectorRefusal } from './request-guard.ts';
import { MASK, maskedValue } from './sensitive-headers.ts';

interface ReplayRequest {
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
function replayRequest(exchange: KeptExchange, edit: ReplayEdit): ReplayRequest {
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
  throw badEdit(`the method must be one of ${REPLAY_METHODS.join(', ')}`);
}

function editedTarget(path: string): string {
  if (!path.startsWith('/')) throw badEdit('the path must begin with /');
  if (path.length > MAX_TARGET_LENGTH) throw badEdit(`the path is longer than ${MAX_TARGET_LENGTH} characters`);
  if (/[^\x21-\x7e]|#/.test(path))
    throw badEdit('the path has a space, a # or another character that must be %-encoded');
  return path;
}

function editedHeaders(given: NonNullable<ReplayEdit['headers']>, exchange: KeptExchange): HeaderList {
  if (given.length > MAX_HEADERS) throw badEdit(`there are more than ${MAX_HEADERS} headers`);
  const headers: string[] = [];
  let length = 0;
  for (const header of given) {
    const name = header.name.toLowerCase();
    if (!isToken(name)) throw badEdit(`${JSON.stringify(header.name)} is not a header name`);
    if (COMPUTED.has(name)) throw badEdit(`the header ${name} is computed and cannot be set`);
    const value = header.value.includes(MASK) ? unmasked(name, header.value, exchange) : header.value.trim();
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw badEdit(`the value of ${name} has a line break or another character that is not allowed in a header`);
    length += name.length + value.length;
    headers.push(name, value);
  }
  if (length > MAX_HEADER_LENGTH) throw badEdit(`the headers are longer than ${MAX_HEADER_LENGTH} bytes`);
  return headers;
}

/** A masked value that was not edited stands for the stored one. */
function unmasked(name: string, shown: string, { request: { headers } }: KeptExchange): string {
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    if (headers[at] === name && maskedValue(name, value) === shown.trim()) return value;
  }
  throw badEdit(`the value of ${name} is masked: leave it unchanged, or enter the whole value`);
}

function badEdit(message: string): InspectorRefusal {
  return new InspectorRefusal(400, 'bad_edit', message);
}

interface ReplayTarget {
  readonly forwardsTo: string;
  /** The Host of the original request. */
  readonly publicHost: string;
  readonly spec: Pick<TunnelSpec, 'hostHeader' | 'upstreamTls'> | undefined;
}

/** Ends a replay whose response never ends: no client is there to hang up. */
const REPLAY_TIMEOUT_MS = 120_000;

/**
 * Sends a request directly to the local service, as the agent would. The observer sees the whole exchange; nothing is
 * thrown.
 */
function sendReplay(target: ReplayTarget, request: ReplayRequest, observer: ExchangeObserver): () => void {
  let exchange: UpstreamExchange | null = null;
  let isOver = false;
  const end = (problem: string | null): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    observer.onEnd(problem);
  };
  const giveUp = (problem: string): void => {
    if (isOver) return;
    exchange?.abort();
    end(problem);
  };
  const timer = setTimeout(() => giveUp(`timed out after ${REPLAY_TIMEOUT_MS / 1_000} s`), REPLAY_TIMEOUT_MS).unref();
  try {
    const address = parseLocalAddress(target.forwardsTo, 'http');
    const upstream = openLocal(address, target.spec ?? {});
    const { method, target: path, headers } = request;
    if (request.body.length > 0) observer.onRequestData(request.body);
    const authority = authorityOf(target, address);
    exchange = upstream.send(
      { method, target: path, authority, headers, body: framed(request.body), switchTo: null },
      {
        onInformational: () => {},
        onHead: (head) => observer.onResponseHead(head.status, head.headers),
        onSwitch: (_head, socket) => {
          socket.destroy();
          end('the service switched protocols without being asked');
        },
        onData: (chunk) => {
          observer.onResponseData(chunk);
          return true;
        },
        onEnd: () => end(null),
        onBug: (error) => {
          reportBug(error, { part: 'replay' });
          end(`the agent has a bug (${String(error)})`);
        },
        onFailure: (failure) => end(problemText(failure, failure.message, address.hostport)),
      },
    );
    // A replay has its own connections, which end with it.
    void upstream.drain();
  } catch (error) {
    end(error instanceof AgentError ? error.message : `it could not be sent: ${String(error)}`);
  }
  return () => giveUp('the inspector was closed');
}

function framed(body: Buffer): RequestBody {
  if (body.length === 0) return { framing: 'none' };
  return { framing: 'length', bytes: body.length, source: Readable.from(body), expectsContinue: false };
}

function authorityOf({ publicHost, spec }: ReplayTarget, address: LocalAddress): string {
  const hostHeader = spec?.hostHeader ?? 'preserve';
  if (hostHeader === 'preserve') return publicHost;
  return hostHeader === 'rewrite' ? address.authority : hostHeader;
}

const MAX_AT_ONCE = 16;

/** Sends requests again to the local service. Each replay is stored like a request that came through the tunnel. */
export class Replays {
  readonly #store: ExchangeStore;
  readonly #options: Pick<InspectorOptions, 'tunnels'>;
  readonly #underWay = new Set<() => void>();

  constructor(store: ExchangeStore, options: Pick<InspectorOptions, 'tunnels'>) {
    this.#store = store;
    this.#options = options;
  }

  /** Returns the started exchange immediately. Throws `InspectorRefusal`. */
  start({ id, tunnelName, edit }: ReplayOrder): KeptExchange {
    const original = this.#store.get(id);
    if (original === null) throw new InspectorRefusal(404, 'not_found', 'this request is not stored, or no longer');
    const tunnel = this.#tunnel(tunnelName ?? original.request.tunnel.name);
    const request = replayRequest(original, edit);
    if (this.#underWay.size >= MAX_AT_ONCE) {
      throw new InspectorRefusal(429, 'too_many', `${MAX_AT_ONCE} replays are in progress: wait for one to end`);
    }
    const { authority } = original.request;
    const { method, target, headers, body } = request;
    const observed = { tunnel, method, target, authority, headers, contentLength: body.length };
    const exchange = this.#store.begin(observed, original.id);
    let cancel: (() => void) | null = null;
    const observer = {
      onRequestData: (chunk: Buffer) => exchange.onRequestData(chunk),
      onResponseHead: (status: number, list: readonly string[]) => exchange.onResponseHead(status, list),
      onResponseData: (chunk: Buffer) => exchange.onResponseData(chunk),
      onEnd: (problem: string | null) => {
        exchange.onEnd(problem);
        if (cancel !== null) this.#underWay.delete(cancel);
      },
    };
    const { spec } = tunnel;
    // The first of several replicas.
    const forwardsTo = tunnel.forwardsTo.replace(/,? .*$/, '');
    cancel = sendReplay({ forwardsTo, publicHost: authority, spec }, request, observer);
    if (!exchange.isOver) this.#underWay.add(cancel);
    return exchange;
  }

  close(): void {
    for (const cancel of [...this.#underWay]) cancel();
  }

  #tunnel(name: string): AgentTunnel {
    const tunnel = this.#options.tunnels().find((one) => one.name === name);
    if (tunnel === undefined) throw new InspectorRefusal(404, 'no_tunnel', `this agent has no tunnel "${name}"`);
    if (tunnel.proto === 'tcp' || tunnel.proto === 'tls') {
      throw new InspectorRefusal(409, 'not_http', `the tunnel "${name}" carries connections, not requests`);
    }
    return tunnel;
  }
}

/** Parts of the request that the replay changes. */
interface ReplayEdit {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
  readonly body?: Buffer;
}

interface ReplayOrder {
  readonly id: string;
  /** Null: the tunnel of the original request. */
  readonly tunnelName: string | null;
  readonly edit: ReplayEdit;
}

/** Reads `{"id", "tunnel_name"?, "edit"?: {"method"?, "path"?, "headers"?, "body"?}}`. Throws `InspectorRefusal`. */
export function parseReplayOrder(text: string): ReplayOrder {
  const order = fieldsOf(parsed(text), 'the request', ['id', 'tunnel_name', 'edit']);
  const id = stringIn(order, 'id');
  if (id === undefined) throw badOrder('"id" is missing');
  return { id, tunnelName: stringIn(order, 'tunnel_name') ?? null, edit: editIn(order['edit'] ?? {}) };
}

function editIn(value: JsonValue): ReplayEdit {
  const edit = fieldsOf(value, '"edit"', ['method', 'path', 'headers', 'body']);
  const method = stringIn(edit, 'method');
  const path = stringIn(edit, 'path');
  const body = stringIn(edit, 'body');
  return {
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path }),
    ...(edit['headers'] !== undefined && { headers: headersIn(edit['headers']) }),
    ...(body !== undefined && { body: base64In(body) }),
  };
}

function headersIn(value: JsonValue): readonly { readonly name: string; readonly value: string }[] {
  if (!Array.isArray(value)) throw badOrder('"headers" must be a list');
  return (value as readonly JsonValue[]).map((item) => {
    // `masked` is accepted and ignored, so that a list can be sent back as it was read.
    const header = fieldsOf(item, 'a header', ['name', 'value', 'masked']);
    const name = stringIn(header, 'name');
    const text = stringIn(header, 'value');
    if (name === undefined || text === undefined) throw badOrder('a header needs "name" and "value"');
    return { name, value: text };
  });
}

function base64In(text: string): Buffer {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw badOrder('"body" must be base64');
  return Buffer.from(text, 'base64');
}

function parsed(text: string): unknown {
  try {
    return parseUniqueJson(text);
  } catch {
    throw badOrder('the body is not JSON');
  }
}

function fieldsOf(value: unknown, what: string, known: readonly string[]): JsonObject {
  if (!isJsonObject(value)) throw badOrder(`${what} must be an object`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw badOrder(`${what} has an unknown field ${JSON.stringify(unknown.slice(0, 64))}`);
  return value;
}

function stringIn(object: JsonObject, field: string): string | undefined {
  const value = object[field];
  if (value === undefined || typeof value === 'string') return value;
  throw badOrder(`"${field}" must be a string`);
}

function badOrder(message: string): InspectorRefusal {
  return new InspectorRefusal(400, 'bad_request', message);
}
