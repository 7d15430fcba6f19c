import { randomUUID } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { Clock } from '../../../kit/clock.ts';
import { FetchProblem } from '../../../kit/http/fetch-problem.ts';
import type { GuardedFetch, GuardedFetchInit } from '../../../kit/http/guarded-fetch.ts';
import { isJsonObject, type JsonObject, parseExactJson } from '../../../kit/json.ts';
import { LoginProblem, unansweredProblem } from './login-problem.ts';

/** Calls one of the provider's endpoints; any status but 200 is a problem. */
export async function askProvider(fetch: GuardedFetch, url: string, init?: GuardedFetchInit): Promise<Response> {
  const response = await fetch(url, init).catch((error: unknown) => {
    throw error instanceof FetchProblem ? unansweredProblem(error) : error;
  });
  if (response.status !== 200) throw statusProblem(url, response.status);
  return response;
}

export async function askForJson(fetch: GuardedFetch, url: string): Promise<JsonObject> {
  const response = await askProvider(fetch, url, { headers: { accept: 'application/json' } });
  return jsonOf(response, url);
}

export async function jsonOf(response: Response, url: string): Promise<JsonObject> {
  const body: unknown = await response
    .text()
    .then(parseExactJson)
    .catch(() => null);
  if (!isJsonObject(body)) {
    throw new LoginProblem('provider', 'malformed_answer', `${url} returned a body that is not a JSON object`);
  }
  return body;
}

/** RFC 6585 §4, RFC 9110 §15.6: it says nothing about the request, only that it cannot be answered now. */
export function isBusyStatus(status: number): boolean {
  return status === 429 || status >= 500;
}

export function statusProblem(endpoint: string, status: number): LoginProblem {
  if (isBusyStatus(status)) {
    return new LoginProblem('unreachable', 'unexpected_status', `${endpoint} returned status ${status}`);
  }
  return status >= 300 && status < 400
    ? new LoginProblem('provider', 'redirected', `${endpoint} returned a redirect (${status}), which is not followed`)
    : new LoginProblem('provider', 'unexpected_status', `${endpoint} returned status ${status}`);
}

interface CachedResponseOptions<Answer> {
  load(): Promise<Answer>;
  readonly clock: Clock;
  /** From this age on it is reloaded in the background while the old one is used. */
  readonly refreshAfterMs: number;
  /** From this age on the old one is no longer valid. */
  readonly validForMs: number;
  /** Minimum time between attempts after a failure, and between requested reloads. */
  readonly floorMs: number;
  /** Minimum time between requested reloads, where it differs. */
  readonly reloadFloorMs?: number;
}

/**
 * A cached response of the provider.
 *
 * States: none (load and wait) → kept (return at once) → old (return at once, load in the background) → spent (load and
 * wait). A failed load changes only the time of the next attempt: until then waiting callers get the same failure.
 */
class CachedResponse<Answer> {
  readonly #options: CachedResponseOptions<Answer>;
  #kept: { readonly answer: Answer; readonly atMs: number } | null = null;
  #failed: { readonly error: unknown; readonly atMs: number } | null = null;
  #loading: Promise<Answer> | null = null;
  #askedForMs: number | null = null;

  constructor(options: CachedResponseOptions<Answer>) {
    this.#options = options;
  }

  async get(): Promise<Answer> {
    const kept = this.#kept;
    if (kept === null || !this.#isWithin(kept.atMs, this.#options.validForMs)) return this.#load();
    if (!this.#isWithin(kept.atMs, this.#options.refreshAfterMs)) this.#load().catch(ignore);
    return kept.answer;
  }

  /** A newer response than the one that did not work, or null when it was loaded too recently. */
  async getNewer(): Promise<Answer | null> {
    if (this.#loading !== null) return this.#loading;
    const { floorMs, reloadFloorMs = floorMs } = this.#options;
    if (this.#askedForMs !== null && this.#isWithin(this.#askedForMs, reloadFloorMs)) return null;
    this.#askedForMs = this.#options.clock.nowMs();
    return this.#load();
  }

  #load(): Promise<Answer> {
    if (this.#loading !== null) return this.#loading;
    if (this.#failed !== null && this.#isWithin(this.#failed.atMs, this.#options.floorMs)) {
      return Promise.reject(this.#failed.error);
    }
    this.#loading = this.#options
      .load()
      .then(
        (answer) => {
          this.#kept = { answer, atMs: this.#options.clock.nowMs() };
          this.#failed = null;
          return answer;
        },
        (error: unknown) => {
          this.#failed = { error, atMs: this.#options.clock.nowMs() };
          throw error;
        },
      )
      .finally(() => {
        this.#loading = null;
      });
    return this.#loading;
  }

  /** A clock that was set back must not extend any duration. */
  #isWithin(sinceMs: number, durationMs: number): boolean {
    const elapsedMs = this.#options.clock.nowMs() - sinceMs;
    return elapsedMs >= 0 && elapsedMs < durationMs;
  }
}

function ignore(): void {}

const MINUTE_MS = 60_000;
const FLOOR_MS = 5_000;
const METADATA_REFRESH_MS = 60 * MINUTE_MS;
const KEYS_REFRESH_MS = 10 * MINUTE_MS;
/** A key that the issuer has withdrawn is not trusted longer than this, even when its keys cannot be fetched. */
const KEYS_VALID_FOR_MS = 60 * MINUTE_MS;

/** What an issuer publishes, cached. The thread that has it may be another one. */
export interface IssuerSource<Metadata> {
  metadata(): Promise<Metadata>;
  keys(): Promise<PublishedKeys>;
  /** Newer ones than those that did not work, or null when they were fetched too recently. */
  newerKeys(): Promise<PublishedKeys | null>;
}

export interface PublishedKeys {
  /** Differs when they were fetched again. */
  readonly version: string;
  readonly set: JSONWebKeySet;
}

interface FetchedIssuerOptions<Metadata> {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  readonly discover: () => Promise<Metadata>;
  /** Minimum time between fetches because of an unknown key, where it differs. */
  readonly reloadFloorMs?: number;
}

export class FetchedIssuer<Metadata extends { readonly jwks_uri: string }> implements IssuerSource<Metadata> {
  readonly #metadata: CachedResponse<Metadata>;
  readonly #keys: CachedResponse<PublishedKeys>;

  constructor({ fetch, clock, discover, reloadFloorMs }: FetchedIssuerOptions<Metadata>) {
    this.#metadata = new CachedResponse({
      load: discover,
      clock,
      refreshAfterMs: METADATA_REFRESH_MS,
      // Endpoints hardly ever move, and a server there still has to prove its identity.
      validForMs: Number.POSITIVE_INFINITY,
      floorMs: FLOOR_MS,
    });
    this.#keys = new CachedResponse({
      load: async () => fetchKeys((await this.metadata()).jwks_uri, fetch),
      clock,
      refreshAfterMs: KEYS_REFRESH_MS,
      validForMs: KEYS_VALID_FOR_MS,
      floorMs: FLOOR_MS,
      ...(reloadFloorMs !== undefined && { reloadFloorMs }),
    });
  }

  metadata(): Promise<Metadata> {
    return this.#metadata.get();
  }

  keys(): Promise<PublishedKeys> {
    return this.#keys.get();
  }

  newerKeys(): Promise<PublishedKeys | null> {
    return this.#keys.getNewer();
  }
}

/** Providers publish a few dozen at most. 6,000 stalled the loop for 0.7 s, and every token was compared with each. */
const MAX_KEYS = 200;

async function fetchKeys(url: string, fetch: GuardedFetch): Promise<PublishedKeys> {
  const malformed = (what: string): never => {
    throw new LoginProblem('provider', 'malformed_answer', `${url} returned ${what}`);
  };
  const response = await askProvider(fetch, url, { headers: { accept: 'application/json' } });
  // Keys have no numbers that must be exact, and the exact parser is slow.
  const set = parsed(await response.text().catch(() => ''));
  const keys = isJsonObject(set) ? set['keys'] : null;
  if (!Array.isArray(keys)) return malformed('a body that is not a JSON Web Key Set');
  if (keys.length > MAX_KEYS) return malformed(`${keys.length} keys, and at most ${MAX_KEYS} are accepted`);
  // The type only states what the next function checks.
  const published = set as unknown as JSONWebKeySet;
  try {
    createLocalJWKSet(published);
  } catch {
    return malformed('a body that is not a JSON Web Key Set');
  }
  return { version: randomUUID(), set: published };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
