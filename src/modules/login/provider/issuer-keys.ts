import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { GuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import { askForJson } from './ask-provider.ts';
import { CachedResponse } from './cached-response.ts';
import { LoginProblem } from './login-problem.ts';

const MINUTE_MS = 60_000;
const KEYS_REFRESH_MS = 10 * MINUTE_MS;
/** A key that the issuer has withdrawn is not trusted longer than this, even when its keys cannot be fetched. */
const KEYS_VALID_FOR_MS = 60 * MINUTE_MS;

export interface IssuerKeysOptions {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Where the keys are published. */
  readonly url: () => Promise<string>;
  readonly floorMs: number;
  /** Minimum time between reloads because of an unknown key, where it differs. */
  readonly reloadFloorMs?: number;
}

/** The cached keys of one issuer of tokens. */
export class IssuerKeys {
  readonly #keys: CachedResponse<JWTVerifyGetKey>;

  constructor({ fetch, clock, url, ...floors }: IssuerKeysOptions) {
    this.#keys = new CachedResponse({
      load: async () => loadKeys(await url(), fetch),
      clock,
      refreshAfterMs: KEYS_REFRESH_MS,
      validForMs: KEYS_VALID_FOR_MS,
      ...floors,
    });
  }

  /**
   * Runs a verification with the provider's keys, and once more with newer ones when no known key matched: so keys can
   * be rotated at any time. The minimum interval between such reloads keeps a flood of invented tokens from becoming
   * one of requests.
   */
  async withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    const keys = await this.#keys.get();
    try {
      return await verify(keys);
    } catch (error) {
      if (!isKeyFault(error)) throw error;
      // Keys that cannot be fetched say nothing about the token.
      const newer = await this.#keys.getNewer();
      if (newer === null) throw error instanceof errors.JWKSNoMatchingKey ? new KeyNotYetKnownError() : error;
      return verify(newer);
    }
  }
}

/** The token names a key that is not among those fetched seconds ago. It may be new: unknown for now. */
export class KeyNotYetKnownError extends Error {}

/** A signature that fails under the right key id, or without one, may also be that of a new key. */
function isKeyFault(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}

async function loadKeys(url: string, fetch: GuardedFetch): Promise<JWTVerifyGetKey> {
  const keys = await askForJson(fetch, url);
  try {
    // The type only states what the function checks.
    return createLocalJWKSet(keys as unknown as JSONWebKeySet);
  } catch {
    throw new LoginProblem('provider', 'malformed_answer', `${url} returned a body that is not a JSON Web Key Set`);
  }
}
