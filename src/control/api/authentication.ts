import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../kit/clock.ts';
import { PosternError } from '../../kit/errors.ts';
import { ownerOf } from '../../kit/net/shared-places.ts';
import { isSameSecret } from '../../kit/text/secrets.ts';
import { LOCAL_CALLER, type Principal } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';
import { type OthersWrites, repeatedIfStale } from './others-writes.ts';

export type FindPrincipal = (token: string) => Principal | null;
/** What a token is that is no API key, such as "the token of an agent"; null: nothing known. */
export type KindOfToken = (token: string) => string | null;

export interface Caller {
  readonly principal: Principal;
  readonly token: string;
}

export interface AuthenticationAttempt {
  readonly headers: IncomingHttpHeaders;
  readonly ip: string;
  readonly method: string;
  /** A key that was revoked seconds ago is accepted, while that cannot be known. */
  readonly mayBeRevoked?: boolean;
}

/**
 * Synchronous for a key that this process knows. One that another node has just created takes longer; a failure is
 * delayed.
 */
export type Authenticate = (attempt: AuthenticationAttempt) => Caller | Promise<Caller>;

export interface AuthenticateOptions {
  readonly delay: FailedAuthenticationDelay;
  readonly kindOf?: KindOfToken | undefined;
  /** False while the first keys are being created. */
  readonly areKeysKnown: () => boolean;
  /** The caller of a request with another proof than a key; null when it has none. Throws when that is not valid. */
  readonly findSession?: ((attempt: AuthenticationAttempt) => Caller | null) | undefined;
  readonly others: OthersWrites;
}

/** The only way to authenticate a key: every failure is delayed before it is reported, wherever it occurred. */
export function createAuthenticate(
  find: FindPrincipal,
  { delay, kindOf, areKeysKnown, findSession, others }: AuthenticateOptions,
): Authenticate {
  const callerNow = (attempt: AuthenticationAttempt): Caller => {
    const { authorization } = attempt.headers;
    const session = authorization === undefined ? findSession?.(attempt) : null;
    const caller = session ?? callerOf(authorization, find, kindOf);
    if (!others.isCurrent && attempt.mayBeRevoked !== true) throw revocationsUnknown();
    return caller;
  };
  const hasNoProof = (attempt: AuthenticationAttempt): boolean => {
    if (attempt.headers.authorization !== undefined) return false;
    try {
      return (findSession?.(attempt) ?? null) === null;
    } catch {
      return false;
    }
  };
  const callerLater = async (attempt: AuthenticationAttempt, error: unknown): Promise<Caller> => {
    if (!areKeysKnown()) throw startingError();
    if (!(error instanceof PosternError) || error.status !== 401) throw error;
    // Nothing was guessed. Any web page can make a browser send such requests, and must not spend its address's budget.
    if (hasNoProof(attempt)) throw error;
    try {
      if (!hasProof(attempt)) throw error;
      // Another node may have just created the key. Nobody makes this one read from the store by guessing.
      if (!delay.isFree(attempt.ip)) throw error;
      return await repeatedIfStale(others, () => callerNow(attempt));
    } catch (failure) {
      await delay.wait(attempt.ip);
      throw failure;
    }
  };
  const authenticate: Authenticate = (attempt) => {
    const { behind } = others;
    if (behind !== null && attempt.mayBeRevoked !== true) return onceKnown(behind, () => authenticate(attempt));
    try {
      return callerNow(attempt);
    } catch (error) {
      return callerLater(attempt, error);
    }
  };
  return authenticate;
}

/** After this node stood still: what others changed meanwhile counts for a request that waited. */
export async function onceKnown<Result>(
  behind: Promise<boolean>,
  proceed: () => Result | Promise<Result>,
): Promise<Result> {
  if (!(await behind)) throw revocationsUnknown();
  return proceed();
}

/** The token of an Authorization header, or null when it is malformed. */
function tokenIn(header: string): string | null {
  return /^Bearer +([\x21-\x7e]+) *$/i.exec(header)?.[1] ?? null;
}

/** The key's owner, or a 401. The token is neither logged nor part of any message. */
export function callerOf(header: string | undefined, find: FindPrincipal, kindOf?: KindOfToken): Caller {
  if (header === undefined) throw unauthenticated(`the request has no API key: ${SEND_KEY}`);
  const token = tokenIn(header);
  if (token === null) throw unauthenticated(`the Authorization header is malformed: ${SEND_KEY}`);
  const principal = find(token);
  if (principal === null) throw unauthenticated(unknownKey(token, kindOf));
  return { principal, token };
}

const SEND_KEY = 'send "Authorization: Bearer <API key>"';

/** Tokens that people take for API keys, by how they start. */
const OTHER_TOKENS: readonly (readonly [string, string])[] = [
  ['postern_cr_', 'the token of an agent'],
  ['pst_', 'the token of a service account'],
  ['postern_oc_', 'the secret of an OIDC client'],
  ['postern_lo_', 'a token for commands on the machine of a server, which has ended or is that of another process'],
];

function unknownKey(token: string, kindOf: KindOfToken = () => null): string {
  const kind = OTHER_TOKENS.find(([start]) => token.startsWith(start))?.[1] ?? kindOf(token);
  if (kind === null)
    return 'the API key is not known: it is mistyped, was deleted, or belongs to another server. "postern api api-keys list", with a key that is known, shows those of this server';
  return `this is ${kind}, not an API key: the console and "postern api api-keys create" make API keys, and the first one is in the file first-api-key of the data directory`;
}

/** Nothing that another node wrote makes a request valid that proves nothing. */
function hasProof({ headers: { authorization, cookie } }: AuthenticationAttempt): boolean {
  return authorization === undefined ? cookie !== undefined : tokenIn(authorization) !== null;
}

function revocationsUnknown(): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_REVOCATIONS_UNKNOWN',
    'this node has not reached the database or all other nodes for some seconds, so the API key may have been revoked: send the request again, or to another node',
    { headers: { 'retry-after': '2' } },
  );
}

export function startingError(): PosternError {
  return apiErrors.create('ERR_POSTERN_STARTING', 'the server is starting: send the request again in a second', {
    headers: { 'retry-after': '1' },
  });
}

function unauthenticated(problem: string): Error {
  return apiErrors.create('ERR_POSTERN_UNAUTHENTICATED', problem, {
    headers: { 'www-authenticate': 'Bearer' },
  });
}

const FREE_FAILURES = 20;
const REFILL_PER_SECOND = 0.5;
const DELAY_MS = 1000;
const MAX_WAITING_PER_ADDRESS = 20;
const MAX_ADDRESSES = 10_000;

interface Address {
  failures: number;
  atMs: number;
  waiting: number;
}

/**
 * Delays failed authentication per address; an IPv6 /64 counts as one address. The first few failures are free, each
 * further one is delayed, and only a limited number may wait.
 */
export class FailedAuthenticationDelay {
  readonly #addresses = new Map<string, Address>();
  readonly #clock: Clock;
  readonly #sleep: (ms: number) => Promise<void>;

  constructor(clock: Clock, sleep: (ms: number) => Promise<void>) {
    this.#clock = clock;
    this.#sleep = sleep;
  }

  /** Whether the next failure of this address is not delayed. */
  isFree(address: string): boolean {
    return this.#entry(ownerOf(address)).failures < FREE_FAILURES;
  }

  /** Await this before responding to a failed authentication. Throws 429 when too many are already waiting. */
  async wait(address: string): Promise<void> {
    const entry = this.#entry(ownerOf(address));
    entry.failures += 1;
    if (entry.failures <= FREE_FAILURES) return;
    if (entry.waiting >= MAX_WAITING_PER_ADDRESS) {
      throw apiErrors.create(
        'ERR_POSTERN_RATE_LIMITED',
        'too many failed authentications from this address: wait a few seconds',
        {
          headers: { 'retry-after': '5' },
        },
      );
    }
    entry.waiting += 1;
    try {
      await this.#sleep(DELAY_MS);
    } finally {
      entry.waiting -= 1;
    }
  }

  #entry(address: string): Address {
    const nowMs = this.#clock.nowMs();
    const known = this.#addresses.get(address);
    if (known !== undefined) {
      known.failures = Math.max(0, known.failures - ((nowMs - known.atMs) / 1000) * REFILL_PER_SECOND);
      known.atMs = nowMs;
      return known;
    }
    // Evicts the oldest: counting does not stop an attacker with that many addresses.
    if (this.#addresses.size >= MAX_ADDRESSES) this.#addresses.delete(this.#addresses.keys().next().value ?? '');
    const entry = { failures: 0, atMs: nowMs, waiting: 0 };
    this.#addresses.set(address, entry);
    return entry;
  }
}

const PREFIX = 'postern_lo_';
/** Commands that run longer get another one. */
const LIFETIME_MS = 5 * 60_000;

export interface LocalToken {
  readonly token: string;
  /** In the history of changes. */
  readonly name: string;
  readonly expiresAtMs: number;
}

interface LocalCallersOptions {
  readonly clock: Clock;
  /** Name of this node. */
  readonly node: string;
  /** Null: commands on this machine need an API key. */
  readonly scopes: readonly string[] | null;
}

/**
 * Tokens for commands that the user of the server runs on its machine. The control socket gives them out. Nothing is
 * stored: a token is signed with a key that only this process knows, so no other node accepts it, and it ends with the
 * process.
 */
export class LocalCallers {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;
  readonly #principal: Principal | null;

  constructor({ clock, node, scopes }: LocalCallersOptions) {
    this.#clock = clock;
    this.#principal = scopes === null ? null : { apiKeyId: `${LOCAL_CALLER}${node}`, scopes };
  }

  /** Null: the setting `local_commands` is off. */
  issue(): LocalToken | null {
    if (this.#principal === null) return null;
    const expiresAtMs = this.#clock.nowMs() + LIFETIME_MS;
    const signed = `${expiresAtMs.toString(36)}.${randomBytes(16).toString('base64url')}`;
    return { token: `${PREFIX}${signed}.${this.#signature(signed)}`, name: this.#principal.apiKeyId, expiresAtMs };
  }

  find(token: string): Principal | null {
    if (!token.startsWith(PREFIX)) return null;
    const end = token.lastIndexOf('.');
    const signed = token.slice(PREFIX.length, end);
    if (!isSameSecret(token.slice(end + 1), this.#signature(signed))) return null;
    const expiresAtMs = Number.parseInt(signed, 36);
    return expiresAtMs > this.#clock.nowMs() ? this.#principal : null;
  }

  #signature(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
