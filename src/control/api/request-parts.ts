import { createHash, createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { TObject, TSchema } from 'typebox';
import { PosternError } from '../../kit/errors.ts';
import { listenOnce, reporting } from '../../kit/guarded-listeners.ts';
import {
  DoubledNameError,
  exceededLimit,
  isJsonObject,
  type JsonLimits,
  type JsonObject,
  refuseDoubledNames,
} from '../../kit/json.ts';
import { parseJsonInSlices } from '../../kit/text/json-in-slices.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import { withoutAddedFields } from '../documents/decode-write.ts';
import { API_QUEUE } from '../documents/long-answer.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { Operation, OperationBody, OperationRequest, Principal } from '../resources/operation.ts';
import { contentTypeError } from './error-response.ts';
import { apiErrors } from './errors.ts';

/** RFC 9110 §13.1.1: a list of entity tags or `*`. Weak ones never match. */
export function parseIfMatch(header: string | undefined): OperationRequest['ifMatch'] {
  // A client that lost its ETag must not write without a condition.
  if (header?.trim() === '') throw malformed('If-Match');
  return revisionsIn('If-Match', header, /^"([1-9]\d{0,15})"$/);
}

/** RFC 9110 §13.1.2: the same list, in which weak ones match too. */
export function parseIfNoneMatch(header: string | undefined): OperationRequest['ifNoneMatch'] {
  return revisionsIn('If-None-Match', header, /^(?:W\/)?"([1-9]\d{0,15})"$/);
}

/** An entity tag may contain a comma. */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** The entity tags of a list, whose elements may be empty; null: it is malformed, or has none. */
export function entityTags(header: string): readonly string[] | null {
  const tags = header.match(TAG);
  const isSeparated = !/T[ \t]*T/.test(header.replaceAll(TAG, 'T'));
  const isList = /^[ \t,]*$/.test(header.replaceAll(TAG, '')) && isSeparated;
  return isList ? tags : null;
}

function revisionsIn(name: string, header: string | undefined, ours: RegExp): readonly number[] | 'any' | null {
  if (header === undefined || header.trim() === '') return null;
  if (header.trim() === '*') return 'any';
  const tags = entityTags(header);
  if (tags === null) throw malformed(name);
  // A tag that is not one of our revisions cannot match: -1 never does.
  return tags.map((tag) => Number(ours.exec(tag)?.[1] ?? -1));
}

function malformed(name: string): Error {
  return apiErrors.create(
    'ERR_POSTERN_INVALID_HEADER',
    `${name} must be an ETag in quotes as a response gave it, such as "12", or *`,
  );
}

/** A client that sends it relies on it: without it, a repeat would run again. */
export function idempotencyRefused({ method, path }: { readonly method: string; readonly path: string }): Error {
  return apiErrors.create(
    'ERR_POSTERN_INVALID_HEADER',
    `${method} ${path} takes no Idempotency-Key: send the request without it, and before you repeat it, read what the first one did. A changeset with expected_revision is applied only once`,
  );
}

/**
 * The scope contains caller, operation and key. The body's hash is keyed with the caller's token, so that the record
 * cannot be used to guess a weak secret in the body.
 */
export function idempotencyOf(
  header: string,
  caller: { readonly principal: Principal; readonly token: string },
  request: { readonly method: string; readonly path: string; readonly rawBody: string },
): NonNullable<OperationRequest['idempotency']> {
  if (!/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw apiErrors.create(
      'ERR_POSTERN_INVALID_HEADER',
      'Idempotency-Key must be 1 to 255 visible ASCII characters, such as a UUID',
    );
  }
  const parts = [caller.principal.apiKeyId, request.method, request.path, header];
  return {
    scope: createHash('sha256').update(parts.join('\n')).digest('hex'),
    bodyHash: createHmac('sha256', caller.token).update(request.rawBody).digest('hex'),
  };
}

type QueryDecoder = (query: Readonly<Record<string, unknown>>) => Readonly<Record<string, string>>;

/** Spellings used by existing clients. Not declared: generators would create two fields of the same name. */
const OTHER_SPELLINGS: ReadonlyMap<string, string> = new Map([['beforeId', 'before_id']]);

/**
 * Empty, these count as absent: existing clients send pages' parameters unset, and a search for nothing finds nothing.
 * An empty filter would return everything.
 */
export const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['limit', 'before_id', 'q']);

/** Unknown, repeated, empty and invalid parameters are rejected: a misspelled filter must not return everything. */
export function queryDecoder(schema: TObject | undefined): QueryDecoder {
  const fields = new Map(
    Object.entries(schema?.properties ?? {}).map(([name, field]: [string, TSchema]) => [name, parameterCheck(field)]),
  );
  return (query) => {
    const decoded: Record<string, string> = {};
    for (const [spelling, value] of Object.entries(query)) {
      const name = fields.has(spelling) ? spelling : (OTHER_SPELLINGS.get(spelling) ?? spelling);
      const check = fields.get(name);
      if (check === undefined) throw unknownParameter(spelling, [...fields.keys()]);
      if (typeof value !== 'string' || (decoded[name] !== undefined && decoded[name] !== value))
        throw queryError(name, `"${name}" is given more than once: send it once`);
      if (value === '' && !MAY_BE_EMPTY.has(name))
        throw queryError(name, `${name} is empty: give it a value, or leave it out`);
      const problem = value === '' ? null : check(value);
      if (problem !== null) throw queryError(name, `${name} ${problem}`);
      decoded[name] = value;
    }
    return Object.fromEntries(Object.entries(decoded).filter(([, value]) => value !== ''));
  };
}

interface Keywords {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly description?: string;
}

type ParameterCheck = (value: string) => string | null;

function parameterCheck(field: TSchema): ParameterCheck {
  const {
    type,
    minimum = 0,
    maximum = Number.MAX_SAFE_INTEGER,
    maxLength = Number.MAX_SAFE_INTEGER,
    pattern,
    enum: choices,
    description = '',
  } = field as Keywords;
  if (choices !== undefined)
    return (value) => (choices.includes(value) ? null : `must be one of ${choices.join(', ')}`);
  if (type === 'integer') {
    const isInRange = (value: string): boolean =>
      /^(0|[1-9]\d{0,15})$/.test(value) && Number(value) >= minimum && Number(value) <= maximum;
    return (value) => (isInRange(value) ? null : `must be a whole number from ${minimum} to ${maximum}`);
  }
  const form = new RegExp(pattern ?? '');
  return (value) => {
    if (/\p{Cc}/u.test(value)) return 'contains control characters';
    if (value.length > maxLength) return `has more than ${maxLength} characters`;
    return form.test(value) ? null : `is malformed. ${description}`;
  };
}

function unknownParameter(name: string, known: readonly string[]): Error {
  const listed = known.length === 0 ? ' This path has none.' : ` Known: ${known.join(', ')}.`;
  const shown = name.slice(0, 64);
  return queryError(shown, `"${shown}" is not a query parameter here.${didYouMean(name, known)}${listed}`);
}

function queryError(parameter: string, message: string): Error {
  return resourceErrors.create('ERR_POSTERN_INVALID_QUERY', message, { details: { parameter } });
}

/**
 * Parsing and checking take up to 2 µs per value, on the event loop. The access rules of a route with a hundred lists
 * of a hundred addresses have half as many.
 */
const LIMITS = { maxValues: 20_000, maxDepth: 64 };

/** JSON where an operation takes a body; anything where it does not (existing clients send bare ids to actions). */
export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  /** The parser calls back before it returns. */
  const parsePart = (text: string): unknown => {
    let parsed: unknown;
    void parseJson(undefined as never, text, (error: Error | null, value?: unknown) => {
      if (error !== null && error !== undefined) throw error;
      parsed = value;
    });
    refuseDoubledNames(text, parsed);
    return parsed;
  };
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (!isBodyWanted(request) || bytes.length === 0) {
      done(null, undefined);
      return;
    }
    const { largeBody } = request.postern;
    if (largeBody !== null && bytes.length > LARGE_BODY_BYTES) {
      void parseLargeBody(bytes as Buffer, largeBody, done);
      return;
    }
    const exceeded = exceededLimit(bytes as Buffer, LIMITS);
    if (exceeded !== null) {
      // Bodies of changesets are checked in slices, and may have more.
      if (operationOf(request)?.body?.maxBytes !== undefined) void parseInSlices(bytes as Buffer, done);
      else done(tooMuchJson(exceeded, LIMITS[exceeded]) as Error);
      return;
    }
    let text: string;
    try {
      text = decodeText(bytes as Buffer);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (text.trim() === '') {
      done(null, undefined);
      return;
    }
    // Also rejects "__proto__" and "constructor.prototype" keys: they name no field and must not reach an object.
    let value: unknown;
    try {
      value = parsePart(text);
    } catch (error) {
      done(invalidJson(error instanceof DoubledNameError ? error : undefined));
      return;
    }
    done(null, value);
  });

  async function parseLargeBody(
    bytes: Buffer,
    body: LargeBody,
    done: (error: Error | null, value?: unknown) => void,
  ): Promise<void> {
    try {
      await body.turn();
    } catch (error) {
      done(error as Error);
      return;
    }
    await parseInSlices(bytes, done);
  }

  async function parseInSlices(bytes: Buffer, done: (error: Error | null, value?: unknown) => void): Promise<void> {
    let value: unknown;
    try {
      value = await parseJsonInSlices(API_QUEUE, bytes, parsePart);
    } catch (cause) {
      done(cause instanceof PosternError ? cause : invalidJson(cause));
      return;
    }
    done(null, value);
  }
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes, done) => {
    const isRefused = isBodyWanted(request) && bytes.length > 0;
    done(isRefused ? contentTypeError() : null, undefined);
  });
}

/**
 * Where no body is expected the content type is ignored: Fastify would reject a malformed one before calling any
 * parser.
 */
export const ignoreContentType: onRequestHookHandler = (request, _reply, next) => {
  if (request.raw.headers['content-type'] !== undefined) delete request.raw.headers['content-type'];
  next();
};

function isBodyWanted(request: FastifyRequest): boolean {
  const operation = operationOf(request);
  // Routes beside the operations.
  const { takesBody: isTaken } = request.routeOptions.config as { readonly takesBody?: boolean };
  return isTaken === true || (operation !== undefined && takesBody(operation));
}

function operationOf(request: FastifyRequest): Operation | undefined {
  return (request.routeOptions.config as { readonly operation?: Operation }).operation;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Text of a body. A decoder with replacement characters would store something other than what was sent. */
function decodeText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw apiErrors.create('ERR_POSTERN_INVALID_JSON', 'the body is not UTF-8');
  }
}

/** `cause` is a RangeError where a limit other than the size was exceeded. */
function invalidJson(cause?: unknown): Error {
  const message = 'the body is not valid JSON: send an object such as {"enabled": true}';
  if (cause instanceof DoubledNameError)
    return apiErrors.create('ERR_POSTERN_INVALID_JSON', `in the body, ${cause.message}`);
  return apiErrors.create('ERR_POSTERN_INVALID_JSON', cause instanceof RangeError ? cause.message : message, { cause });
}

function tooMuchJson(limit: keyof JsonLimits, allowed: number): Error {
  const message =
    limit === 'maxValues'
      ? `the body has more than ${allowed} values, counted with all lists and objects in it: send fewer, or split it`
      : `the body is nested more than ${allowed} levels deep: no operation needs that`;
  return apiErrors.create('ERR_POSTERN_INVALID_JSON', message);
}

/** A body as an operation expects it; an absent one is `{}`. */
export function unwrapBody(body: OperationBody, parsed: unknown, params: Readonly<Record<string, string>>): JsonObject {
  if (parsed === undefined) return {};
  if (!isJsonObject(parsed))
    throw apiErrors.create('ERR_POSTERN_INVALID_JSON', 'the body must be a JSON object, such as {"enabled": true}');
  return withoutAddedFields(body, parsed, params);
}

/** Operations with a body treat an absent one as `{}`; those without a body ignore it. */
export function takesBody(operation: Operation): operation is Operation & { body: OperationBody } {
  return operation.body !== undefined && operation.body.parsing !== 'ignored';
}

/** Bodies up to this size are not counted. */
const LARGE_BODY_BYTES = 1_048_576;
/** Each may take 64 MiB while it arrives, and its response as much while it is read. */
const MAX_LARGE_BODIES = 4;
/** One key must not take all of them. */
const MAX_PER_KEY = 2;
/** For the turn of a body that has arrived: a changeset of 50,000 operations may be running. */
const MAX_WAIT_MS = 60_000;
const RETRY_AFTER_SECONDS = '10';

/** A large body that was admitted, until its response and its turn have ended. */
export interface LargeBody {
  /** Resolves when no other large body is being parsed or run. */
  turn(): Promise<void>;
  /** The next one may go on. */
  endTurn(): void;
}

interface Waiting {
  readonly body: LargeBody;
  readonly timer: NodeJS.Timeout;
  readonly resume: () => void;
}

/** Bounds the memory that large bodies take, and runs one at a time: each is parsed into several times its size. */
export class LargeBodies {
  readonly #perKey = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  readonly #maxWaitMs: number;
  #admitted = 0;
  #running: LargeBody | null = null;
  /** The client of the running one has gone. */
  #leaveAfterTurn: (() => void) | null = null;

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.#maxWaitMs = maxWaitMs;
  }

  /**
   * Before a byte of the body is read; `leave` when its response has ended. Work goes on for a client that has gone,
   * and keeps its place until `endTurn`.
   */
  admit(apiKeyId: string): { readonly body: LargeBody; readonly leave: () => void } {
    const ofKey = this.#perKey.get(apiKeyId) ?? 0;
    if (ofKey >= MAX_PER_KEY) throw tooMany(`this API key has ${MAX_PER_KEY} requests`);
    if (this.#admitted >= MAX_LARGE_BODIES) throw tooMany(`the server has ${MAX_LARGE_BODIES} requests`);
    this.#admitted += 1;
    this.#perKey.set(apiKeyId, ofKey + 1);
    const body: LargeBody = { turn: () => this.#turn(body), endTurn: () => this.#endTurn(body) };
    const leave = (): void => {
      this.#giveUp(body);
      if (this.#running === body) this.#leaveAfterTurn = () => this.#leave(apiKeyId);
      else this.#leave(apiKeyId);
    };
    return { body, leave };
  }

  #leave(apiKeyId: string): void {
    this.#admitted -= 1;
    const left = (this.#perKey.get(apiKeyId) ?? 1) - 1;
    if (left === 0) this.#perKey.delete(apiKeyId);
    else this.#perKey.set(apiKeyId, left);
  }

  #turn(body: LargeBody): Promise<void> {
    if (this.#running === null) {
      this.#running = body;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#giveUp(body);
        reject(tooMany('the server is still running other requests'));
      }, this.#maxWaitMs);
      this.#waiting.push({ body, timer, resume: resolve });
    });
  }

  #endTurn(body: LargeBody): void {
    this.#giveUp(body);
    if (this.#running !== body) return;
    this.#leaveAfterTurn?.();
    this.#leaveAfterTurn = null;
    const next = this.#waiting.shift();
    this.#running = next?.body ?? null;
    clearTimeout(next?.timer);
    next?.resume();
  }

  /** A client that has gone waits for nothing. */
  #giveUp(body: LargeBody): void {
    const at = this.#waiting.findIndex((waiting) => waiting.body === body);
    if (at === -1) return;
    const [given] = this.#waiting.splice(at, 1);
    clearTimeout(given?.timer);
  }
}

/** Runs after the gate, which has authenticated the key. A body of unknown length counts as large. */
export function largeBodyGate(bodies: LargeBodies): onRequestHookHandler {
  return (request, reply, proceed) => {
    const { headers, postern } = request;
    const isSmall =
      headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= LARGE_BODY_BYTES;
    if (isSmall) {
      proceed();
      return;
    }
    try {
      const { body, leave } = bodies.admit(postern.apiKeyId ?? '');
      postern.largeBody = body;
      listenOnce(reply.raw, 'close', reporting('API'), leave);
    } catch (error) {
      proceed(error as Error);
      return;
    }
    proceed();
  };
}

function tooMany(what: string): Error {
  return apiErrors.create(
    'ERR_POSTERN_TOO_MANY_LARGE_BODIES',
    `${what} with bodies of more than ${LARGE_BODY_BYTES} bytes: send this one again after the time in Retry-After`,
    { headers: { 'retry-after': RETRY_AFTER_SECONDS } },
  );
}
