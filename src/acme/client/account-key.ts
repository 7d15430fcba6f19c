import { createPrivateKey, generateKeyPair, type KeyObject, type webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';

/** P-256 with ES256, which RFC 8555 §6.2 requires of every server. */
export interface AccountKey {
  readonly privateKey: KeyObject;
  readonly publicJwk: JWK;
  readonly thumbprint: string;
}

/** As it is stored: a JWK as JSON text. */
export async function newAccountKeyText(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return JSON.stringify(privateKey.export({ format: 'jwk' }));
}

export async function readAccountKey(text: string): Promise<AccountKey> {
  const jwk = JSON.parse(text) as webcrypto.JsonWebKey;
  const { kty, crv, x, y } = jwk;
  const publicJwk = { kty, crv, x, y } as JWK;
  return {
    privateKey: createPrivateKey({ key: jwk, format: 'jwk' }),
    publicJwk,
    thumbprint: await calculateJwkThumbprint(publicJwk),
  };
}
