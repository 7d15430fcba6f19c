import { generateKeyPair, type KeyObject, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'oidc-provider';

const generate = promisify(generateKeyPair);

/** One key for RS256, which every provider has, and one for ES256. */
export async function newSigningKeys(): Promise<readonly JWK[]> {
  const rsa = await generate('rsa', { modulusLength: 2048 });
  const ec = await generate('ec', { namedCurve: 'P-256' });
  return [asJwk(rsa.privateKey, 'RS256'), asJwk(ec.privateKey, 'ES256')];
}

function asJwk(key: KeyObject, alg: string): JWK {
  return { ...key.export({ format: 'jwk' }), kid: randomUUID(), alg, use: 'sig' } as JWK;
}
