import { createPrivateKey, generateKeyPair, type KeyObject, type webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, FlattenedSign, type JWK } from 'jose';
import type { JsonObject } from '../../lib/json.ts';

const encoder = new TextEncoder();

interface Signed {
  readonly url: string;
  readonly nonce: string;
  /** Null: a POST-as-GET (RFC 8555 §6.3). */
  readonly payload: JsonObject | null;
}

/** A request body of RFC 8555 §6.2. Without an account URL it carries the public key. */
export async function signedMessage(
  key: AccountKey,
  accountUrl: string | null,
  { url, nonce, payload }: Signed,
): Promise<string> {
  const header = accountUrl === null ? { jwk: key.publicJwk } : { kid: accountUrl };
  const jws = await new FlattenedSign(bytesOf(payload))
    .setProtectedHeader({ alg: 'ES256', ...header, nonce, url })
    .sign(key.privateKey);
  return JSON.stringify(jws);
}

/** Binds the account to one that the operator of the server knows (RFC 8555 §7.3.4). */
export async function accountBinding(
  publicJwk: JWK,
  url: string,
  { keyId, key }: { readonly keyId: string; readonly key: string },
): Promise<JsonObject> {
  const jws = await new FlattenedSign(bytesOf(publicJwk as JsonObject))
    .setProtectedHeader({ alg: 'HS256', kid: keyId, url })
    .sign(Buffer.from(key, 'base64url'));
  return { ...jws } as JsonObject;
}

/** The inner message of a key change (RFC 8555 §7.3.5): signed by the new key, without a nonce. */
export async function keyChangeMessage(
  next: AccountKey,
  old: AccountKey,
  { accountUrl, url }: { readonly accountUrl: string; readonly url: string },
): Promise<JsonObject> {
  const payload = { account: accountUrl, oldKey: old.publicJwk as JsonObject };
  const jws = await new FlattenedSign(bytesOf(payload))
    .setProtectedHeader({ alg: 'ES256', jwk: next.publicJwk, url })
    .sign(next.privateKey);
  return { ...jws } as JsonObject;
}

function bytesOf(payload: JsonObject | null): Uint8Array {
  return payload === null ? new Uint8Array() : encoder.encode(JSON.stringify(payload));
}

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
