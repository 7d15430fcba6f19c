import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { IssuerSource, PublishedKeys } from './issuer-source.ts';

/** The keys of one issuer of tokens. */
export class IssuerKeys {
  readonly #source: Pick<IssuerSource<unknown>, 'keys' | 'newerKeys'>;
  #used: { readonly version: string; readonly keys: JWTVerifyGetKey } | null = null;

  constructor(source: Pick<IssuerSource<unknown>, 'keys' | 'newerKeys'>) {
    this.#source = source;
  }

  /**
   * Runs a verification with the provider's keys, and once more with newer ones when no known key matched: so keys can
   * be rotated at any time. The minimum interval between such reloads keeps a flood of invented tokens from becoming
   * one of requests.
   */
  async withKeys<Result>(verify: (keys: JWTVerifyGetKey) => Promise<Result>): Promise<Result> {
    const keys = this.#readable(await this.#source.keys());
    try {
      return await verify(keys);
    } catch (error) {
      if (!isKeyFault(error)) throw error;
      // Keys that cannot be fetched say nothing about the token.
      const newer = await this.#source.newerKeys();
      if (newer === null) throw error instanceof errors.JWKSNoMatchingKey ? new KeyNotYetKnownError() : error;
      return verify(this.#readable(newer));
    }
  }

  #readable({ version, set }: PublishedKeys): JWTVerifyGetKey {
    if (this.#used?.version !== version) this.#used = { version, keys: createLocalJWKSet(set) };
    return this.#used.keys;
  }
}

/** The token names a key that is not among those fetched seconds ago. It may be new: unknown for now. */
export class KeyNotYetKnownError extends Error {}

/** A signature that fails under the right key id, or without one, may also be that of a new key. */
function isKeyFault(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}
