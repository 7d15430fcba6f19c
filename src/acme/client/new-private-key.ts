import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { PrivateKeyType } from '../records.ts';

const RSA_BITS = 2048;

/** PKCS #8 PEM. */
export async function newPrivateKeyPem(type: PrivateKeyType): Promise<string> {
  const generate = promisify(generateKeyPair);
  const { privateKey } =
    type === 'rsa' ? await generate('rsa', { modulusLength: RSA_BITS }) : await generate('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
