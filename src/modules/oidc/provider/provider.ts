import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../../lib/clock.ts';
import type { GuardedFetch } from '../../../lib/guarded-fetch.ts';
import { askForJson } from './ask-provider.ts';
import { type DiscoveredMetadata, discover } from './discovery.ts';
import { KeptAnswer } from './kept-answer.ts';
import { LoginProblem } from './login-problem.ts';

export interface ProviderPorts {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Hosts, as in URL.hostname, that settings let be asked without TLS. */
  isPlainHttpAllowed(hostname: string): boolean;
}

const MINUTE_MS = 60_000;
const FLOOR_MS = 5_000;
const METADATA_REFRESH_MS = 60 * MINUTE_MS;
const KEYS_REFRESH_MS = 10 * MINUTE_MS;
/** A key that the provider has withdrawn is not believed for longer than this, even when its keys cannot be had. */
const KEYS_GOOD_FOR_MS = 60 * MINUTE_MS;

/** What is known of one OpenID provider, whoever its clients are. */
export class Provider {
  readonly issuer: string;
  readonly ports: ProviderPorts;
  readonly #metadata: KeptAnswer<DiscoveredMetadata>;
  readonly #keys: KeptAnswer<JWTVerifyGetKey>;

  constructor(issuer: string, ports: ProviderPorts) {
    this.issuer = issuer;
    this.ports = ports;
    const { clock } = ports;
    this.#metadata = new KeptAnswer({
      load: () => discover(issuer, ports),
      clock,
      refreshAfterMs: METADATA_REFRESH_MS,
      // Endpoints hardly ever move, and whoever answers there still has to prove who they are.
      goodForMs: Number.POSITIVE_INFINITY,
      floorMs: FLOOR_MS,
    });
    this.#keys = new KeptAnswer({
      load: async () => loadKeys((await this.metadata()).jwks_uri, ports.fetch),
      clock,
      refreshAfterMs: KEYS_REFRESH_MS,
      goodForMs: KEYS_GOOD_FOR_MS,
      floorMs: FLOOR_MS,
    });
  }

  metadata(): Promise<DiscoveredMetadata> {
    return this.#metadata.get();
  }

  /**
   * Runs a verification with the provider's keys, and once more with newer ones when none of the known keys did it: so keys can
   * be rotated at any time. The floor between such reloads keeps a flood of made-up tokens from becoming one of requests.
   */
  async withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    const keys = await this.#keys.get();
    try {
      return await verify(keys);
    } catch (error) {
      if (!isKeyFault(error)) throw error;
      // Keys that cannot be had say nothing about the token.
      const newer = await this.#keys.getNewer();
      if (newer === null) throw error instanceof errors.JWKSNoMatchingKey ? new KeyNotYetKnownError() : error;
      return verify(newer);
    }
  }
}

/** The token names a key that is not among those that were fetched seconds ago. It may be a new one: nobody knows yet. */
export class KeyNotYetKnownError extends Error {}

/** A signature that fails under the right key id, or without one, may be that of a new key too. */
function isKeyFault(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}

async function loadKeys(url: string, fetch: GuardedFetch): Promise<JWTVerifyGetKey> {
  const keys = await askForJson(fetch, url);
  try {
    // The type only says what the function checks.
    return createLocalJWKSet(keys as unknown as JSONWebKeySet);
  } catch {
    throw new LoginProblem('provider', 'malformed_answer', `${url} answered with something that is no set of keys`);
  }
}
