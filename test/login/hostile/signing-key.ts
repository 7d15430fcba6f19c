import { exportJWK, generateKeyPair, type JWK } from 'jose';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

let made = 0;

export async function makeSigningKey(alg: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  made += 1;
  const kid = `key-${made}`;
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

let shared: Promise<SigningKey> | undefined;

/**
 * RSA keys take long to generate, so providers that start out correct share one per process. Async, so that no file
 * awaits a promise of an earlier one, which would take its `after` hooks.
 */
export async function sharedRsaKey(): Promise<SigningKey> {
  shared ??= makeSigningKey('RS256');
  return shared;
}
