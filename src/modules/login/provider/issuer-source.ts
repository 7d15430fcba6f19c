import { randomUUID } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { GuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import { isJsonObject } from '../../../lib/json.ts';
import { askProvider } from './ask-provider.ts';
import { CachedResponse } from './cached-response.ts';
import { LoginProblem } from './login-problem.ts';

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

export interface FetchedIssuerOptions<Metadata> {
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
