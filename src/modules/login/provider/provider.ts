import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { GuardedFetch } from '../../../lib/guarded-fetch.ts';
import { askForJson } from './ask-provider.ts';
import { CachedResponse } from './cached-response.ts';
import { type DiscoveredMetadata, discover } from './discovery.ts';
import { LoginProblem } from './login-problem.ts';

export interface ProviderPorts {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Hosts, as in URL.hostname, that settings allow to contact without TLS. */
  isPlainHttpAllowed(hostname: string): boolean;
}

const MINUTE_MS = 60_000;
const FLOOR_MS = 5_000;
const METADATA_REFRESH_MS = 60 * MINUTE_MS;
const KEYS_REFRESH_MS = 10 * MINUTE_MS;
/** A key that the provider has withdrawn is not trusted longer than this, even when its keys cannot be fetched. */
const KEYS_VALID_FOR_MS = 60 * MINUTE_MS;

/** Cached data of one OpenID provider, for all its clients. */
export class Provider {
  readonly issuer: string;
  readonly ports: ProviderPorts;
  readonly #metadata: CachedResponse<DiscoveredMetadata>;
  readonly #keys: CachedResponse<JWTVerifyGetKey>;

  constructor(issuer: string, ports: ProviderPorts) {
    this.issuer = issuer;
    this.ports = ports;
    const { clock } = ports;
    this.#metadata = new CachedResponse({
      load: () => discover(issuer, ports),
      clock,
      refreshAfterMs: METADATA_REFRESH_MS,
      // Endpoints hardly ever move, and a server there still has to prove its identity.
      validForMs: Number.POSITIVE_INFINITY,
      floorMs: FLOOR_MS,
    });
    this.#keys = new CachedResponse({
      load: async () => loadKeys((await this.metadata()).jwks_uri, ports.fetch),
      clock,
      refreshAfterMs: KEYS_REFRESH_MS,
      validForMs: KEYS_VALID_FOR_MS,
      floorMs: FLOOR_MS,
    });
  }

  metadata(): Promise<DiscoveredMetadata> {
    return this.#metadata.get();
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
