import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteHandlerMethod } from 'fastify';
import type { TObject } from 'typebox';
import type { Clock } from '../../kit/clock.ts';
import { accepts } from '../../kit/http/header-values.ts';
import type { JsonObject } from '../../kit/json.ts';
import { withParts } from '../../kit/load-part.ts';
import { createDecoder } from '../../kit/schema/decode-body.ts';
import { checkIds } from '../documents/decode-write.ts';
import { invalidBody } from '../documents/errors.ts';
import { refuseWithout } from '../resources/errors.ts';
import type { Operation, OperationRequest, OperationResult, Principal } from '../resources/operation.ts';
import { canWrite, hasScope, requireScopes, scopesNeeded } from '../resources/scopes.ts';
import type { Authenticate, Caller } from './authentication.ts';
import { apiErrors } from './errors.ts';
import { type OthersWrites, repeatedIfStale } from './others-writes.ts';
import {
  idempotencyOf,
  idempotencyRefused,
  type LargeBody,
  parseIfMatch,
  parseIfNoneMatch,
  queryDecoder,
  takesBody,
  unwrapBody,
} from './request-parts.ts';

/** Parsing a large body takes the event loop's time: only keys that can write something may send one. */
const MAX_BYTES_OF_READERS = 65_536;

interface Gate {
  readonly authenticate: Authenticate;
  readonly rateLimit: RateLimit;
}

/** Authentication, rate limit, version and scope: checked before a byte of the body is read. */
export function operationGate(operation: Operation, gate: Gate): onRequestHookHandler {
  const scopes = scopesNeeded(operation);
  const admit = (request: FastifyRequest, caller: Caller): void => {
    request.postern.apiKeyId = caller.principal.apiKeyId;
    gate.rateLimit.take(caller.principal.apiKeyId);
    const version = requestedVersion(request.headers, operation);
    requireScopes(caller.principal, scopes);
    if (operation.body?.maxBytes !== undefined) refuseLargeBodyOfReader(request, caller);
    request.postern.admission = { principal: caller.principal, token: caller.token, version };
  };
  return (request, _reply, proceed) => {
    const enter = (caller: Caller): void => {
      try {
        admit(request, caller);
      } catch (error) {
        proceed(error as Error);
        return;
      }
      proceed();
    };
    const caller = gate.authenticate(request);
    if (caller instanceof Promise) caller.then(enter, proceed);
    else enter(caller);
  };
}

/** What a long operation did so far was allowed by the scopes that the key had. */
function requireSameScopes(before: Caller, now: Caller): void {
  for (const scope of before.principal.scopes) {
    if (hasScope(now.principal, scope)) continue;
    refuseWithout({ scope, message: `this API key lost the scope "${scope}" while the request ran` });
  }
}

function refuseLargeBodyOfReader({ headers }: FastifyRequest, { principal }: Caller): void {
  if (canWrite(principal) || Number(headers['content-length']) <= MAX_BYTES_OF_READERS) return;
  refuseWithout({
    scope: '*',
    message: `this API key has no scope for writing, so its body must have a Content-Length of at most ${MAX_BYTES_OF_READERS} bytes: use a key that can write`,
  });
}

interface HandlerPorts {
  readonly authenticate: Authenticate;
  readonly others: OthersWrites;
  readonly gzip: GzipResponses;
  readonly onAnswered: (request: FastifyRequest, status: number) => void;
}

/** An operation whose result is available is answered in the same turn, as most reads are. */
export function operationHandler<Ports>(
  operation: Operation<Ports>,
  ports: Ports,
  { authenticate, others, gzip, onAnswered }: HandlerPorts,
): RouteHandlerMethod {
  const decodeQuery = queryDecoder(operation.query);
  const scopes = scopesNeeded(operation);
  const decodeBody = bodyDecoder(operation);
  const answer = (request: FastifyRequest, reply: FastifyReply, result: OperationResult): Promise<void> | undefined => {
    const { operationId, largeBody } = request.postern;
    const status = statusOf(request.raw, operation, result);
    reply.hijack();
    largeBody?.endTurn();
    const writing = writeResult(request.raw, reply.raw, { operation, status, operationId, result }, gzip);
    if (writing !== undefined) return writing.then(() => onAnswered(request, status));
    onAnswered(request, status);
    return undefined;
  };
  const handle = (request: FastifyRequest, reply: FastifyReply, caller: Caller): Promise<void> | undefined => {
    const admission = request.postern.admission as Admission;
    requireScopes(caller.principal, scopes);
    const params = request.params as Record<string, string>;
    checkIds(params);
    const described: OperationRequest = {
      operationId: request.postern.operationId,
      principal: caller.principal,
      authenticateAgain: async () => requireSameScopes(caller, await authenticate(request)),
      params,
      query: decodeQuery(request.query as Record<string, unknown>),
      body: decodeBody(request, params),
      ifMatch: operation.isConditional === true ? parseIfMatch(request.headers['if-match']) : null,
      ifNoneMatch: honorsIfNoneMatch(operation) ? parseIfNoneMatch(request.headers['if-none-match']) : null,
      idempotency: idempotency(operation, request, admission),
      version: admission.version.version,
      isLegacyClient: admission.version.isLegacyClient,
      address: request.ip,
    };
    const runOnce = (): OperationResult | Promise<OperationResult> => operation.run(described, ports);
    const run = operation.body === undefined ? runOnce : () => withParts(runOnce);
    const again = async (): Promise<OperationResult> => {
      const now = await authenticate(request);
      requireScopes(now.principal, scopes);
      return withParts(() => operation.run({ ...described, principal: now.principal }, ports));
    };
    // What takes large bodies can take long.
    const isRepeated = operation.body?.maxBytes === undefined;
    const result = isRepeated ? repeatedIfStale(others, run, { again }) : run();
    if (result instanceof Promise) return result.then((late) => answer(request, reply, late));
    return answer(request, reply, result);
  };
  return (request, reply) => {
    // The gate has set it, otherwise the request would not get here.
    const admission = request.postern.admission as Admission;
    // A body may take a minute to arrive: a key that was deleted meanwhile must not write.
    const caller = operation.method === 'GET' ? admission : authenticate(request);
    if (caller instanceof Promise) return caller.then((late) => handle(request, reply, late));
    return handle(request, reply, caller);
  };
}

/** A POST creates something new, whatever exists at its address. */
function honorsIfNoneMatch({ method, isConditional }: Operation): boolean {
  return isConditional === true && method !== 'POST';
}

function bodyDecoder(
  operation: Operation,
): (request: FastifyRequest, params: Readonly<Record<string, string>>) => JsonObject {
  if (!takesBody(operation)) return () => ({});
  const { body } = operation;
  if (body.isDecodedByOperation === true) return (request, params) => unwrapBody(body, request.body, params);
  const decoder = createDecoder(body.schema as TObject);
  return (request, params) => {
    const decoded = decoder.decode(unwrapBody(body, request.body, params));
    if (!decoded.ok) throw invalidBody(decoded.problems);
    return decoded.value;
  };
}

function idempotency(
  operation: Operation,
  request: FastifyRequest,
  admission: Admission,
): OperationRequest['idempotency'] {
  const header = request.headers['idempotency-key'] as string | undefined;
  if (header === undefined || (operation.method !== 'POST' && operation.isIdempotentByKey !== true)) return null;
  if (operation.isIdempotentByKey !== true) throw idempotencyRefused(operation);
  const path = request.url.split('?')[0] ?? '';
  return idempotencyOf(header, admission, {
    method: request.method,
    path,
    rawBody: JSON.stringify(request.body ?? null),
  });
}

/** Results of the gate for an admitted request. */
interface Admission {
  readonly principal: Principal;
  readonly token: string;
  readonly version: RequestedVersion;
}

/** State of a request across Fastify's hooks. */
export interface RequestState {
  readonly operationId: string;
  readonly startedAt: number;
  apiKeyId: string | null;
  admission: Admission | null;
  /** Null: the body is small. */
  largeBody: LargeBody | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    postern: RequestState;
  }
}

interface RequestedVersion {
  readonly version: 0 | 2;
  /** Named by the retired service's header: existing clients only need another base URL. */
  readonly isLegacyClient: boolean;
}

function requestedVersion(headers: IncomingHttpHeaders, operation: Operation): RequestedVersion {
  const own = headers['service-version'];
  const legacy = headers['ngrok-version'];
  if (own !== undefined && legacy !== undefined && own !== legacy) {
    throw versionError('Service-Version and Ngrok-Version differ');
  }
  const named = own ?? legacy;
  const isLegacyClient = own === undefined;
  if (named === '2') return { version: 2, isLegacyClient };
  if (named === '0' && operation.acceptsVersion0 === true) return { version: 0, isLegacyClient };
  if (named === undefined || named === '') throw versionError('the request has no version');
  if (named === '0') throw versionError('version 0 is supported only for GET /tunnels and GET /tunnels/{id}');
  throw versionError(`version "${String(named).slice(0, 20)}" is not supported`);
}

function versionError(problem: string): Error {
  return apiErrors.create('ERR_POSTERN_VERSION', `${problem}: send "Service-Version: 2"`);
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** A token bucket per API key, with a burst of one second's worth of requests. 0 = off. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>();
  readonly #perSecond: number;
  readonly #clock: Clock;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  take(apiKeyId: string): void {
    if (this.#perSecond === 0) return;
    const nowMs = this.#clock.nowMs();
    const bucket = this.#buckets.get(apiKeyId) ?? { tokens: this.#perSecond, atMs: nowMs };
    bucket.tokens = Math.min(this.#perSecond, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * this.#perSecond);
    bucket.atMs = nowMs;
    this.#buckets.set(apiKeyId, bucket);
    if (bucket.tokens < 1) {
      const seconds = Math.max(1, Math.ceil((1 - bucket.tokens) / this.#perSecond));
      throw apiErrors.create(
        'ERR_POSTERN_RATE_LIMITED',
        `more than ${this.#perSecond} requests per second with this API key: wait ${seconds} s`,
        {
          headers: { 'retry-after': String(seconds) },
        },
      );
    }
    bucket.tokens -= 1;
  }
}

interface AnsweredOperation {
  readonly operation: Operation;
  readonly status: number;
  readonly operationId: string;
  readonly result: OperationResult;
}

/**
 * Writes directly to the socket: Fastify's own path serializes, runs hooks and looks up more than is needed. Returns a
 * promise if the body is compressed first.
 */
function writeResult(
  request: IncomingMessage,
  response: ServerResponse,
  { operation, status, operationId, result }: AnsweredOperation,
  gzip: GzipResponses,
): Promise<void> | undefined {
  const headers = ['postern-operation-id', operationId, 'cache-control', 'no-store'];
  if (result.etag !== undefined) headers.push('etag', `"${result.etag}"`);
  if (result.revision !== undefined) headers.push('postern-revision', String(result.revision));
  if (status === 201 && typeof result.body?.['uri'] === 'string') headers.push('location', result.body['uri']);
  if (result.headers !== undefined)
    for (const [name, value] of Object.entries(result.headers)) headers.push(name, value);
  if (result.body === null || status === 304) {
    response.writeHead(status, headers).end();
    return undefined;
  }
  headers.push('content-type', 'application/json; charset=utf-8');
  if (result.parts !== undefined) {
    response.writeHead(status, headers);
    // A client that has gone needs no response, and a bug in the parts must not look like a complete one.
    pipeline(Readable.from(result.parts), response, () => {});
    return undefined;
  }
  const text = result.text ?? JSON.stringify(result.body);
  if (isList(operation)) headers.push('vary', varyOn(response, 'accept-encoding'));
  const send = (bytes: Buffer | null): void => {
    if (bytes !== null) headers.push('content-encoding', 'gzip');
    headers.push('content-length', String(bytes?.length ?? Buffer.byteLength(text)));
    response.writeHead(status, headers).end(bytes ?? text);
  };
  if (isList(operation) && mayCompress(request)) return gzip.compress(text, request.headers).then(send);
  send(null);
  return undefined;
}

/** RFC 9110 §13.1.2. Fields that the ETag does not cover may have changed: such a resource is sent again. */
function statusOf({ headers }: IncomingMessage, operation: Operation, result: OperationResult): number {
  if (operation.method === 'GET' && result.etag !== undefined && result.hasLiveFields !== true) {
    const known = parseIfNoneMatch(headers['if-none-match']);
    if (isListed(known, result.etag)) return 304;
  }
  return result.status ?? operation.success.status;
}

function isListed(known: OperationRequest['ifNoneMatch'], etag: number): boolean {
  return known === 'any' || (known?.includes(etag) ?? false);
}

/** Lists show no secrets: only the response to a create does. */
function isList({ method, verb }: Operation): boolean {
  return method === 'GET' && verb === 'list';
}

/**
 * A browser sends a cookie by itself, and the size of a compressed response then tells a foreign page about its content
 * (BREACH, CVE-2013-3587). A key in a header is only sent by who has it.
 */
function mayCompress({ headers }: IncomingMessage): boolean {
  return headers.authorization !== undefined;
}

/** The value of Vary with these headers, and those on which the response varies already. */
export function varyOn(response: ServerResponse, headers: string): string {
  const before = response.getHeader('vary');
  if (before === undefined) return headers;
  return [...new Set([...namesIn(String(before)), ...namesIn(headers)])].join(', ');
}

function namesIn(list: string): readonly string[] {
  return list.split(',').map((name) => name.trim());
}

const compressed = promisify(gzip);

/** Shorter texts gain nothing. */
const MIN_CHARACTERS = 1024;
/** Longer ones would hold a thread for too long. */
const MAX_CHARACTERS = 8_388_608;
/** Files and DNS use the same four threads. */
const MAX_AT_A_TIME = 2;
/** 6 takes twice as long for a tenth less. */
const LEVEL = 4;

/** Compresses texts off the event loop. While enough others are being compressed, a response is sent as it is. */
export class GzipResponses {
  #running = 0;

  /** Null: the text is sent as it is. Never rejects. */
  async compress(text: string, headers: IncomingHttpHeaders): Promise<Buffer | null> {
    if (text.length < MIN_CHARACTERS || text.length > MAX_CHARACTERS || this.#running >= MAX_AT_A_TIME) return null;
    if (!accepts(headers['accept-encoding'] as string | undefined, 'gzip')) return null;
    this.#running += 1;
    try {
      return await compressed(text, { level: LEVEL });
    } catch {
      return null;
    } finally {
      this.#running -= 1;
    }
  }
}
