// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';

const ALGORITHMS = {
  ecdsa: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
} as const;

/**
 * The certificate request (PKCS #10) in DER. The name is in the subject alternative names only: a common name is
 * limited to 64 characters.
 */
export async function certificateRequest(privateKeyPem: string, hostname: string): Promise<Buffer> {
  const key = createPrivateKey(privateKeyPem);
  const algorithm = ALGORITHMS[key.asymmetricKeyType === 'rsa' ? 'rsa' : 'ecdsa'];
  const der = key.export({ type: 'pkcs8', format: 'der' });
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, true, ['sign']);
  const { kty, n, e, crv, x, y } = key.export({ format: 'jwk' });
  const jwk = { kty, n, e, crv, x, y } as webcrypto.JsonWebKey;
  const publicKey = await webcrypto.subtle.importKey('jwk', withoutUndefined(jwk), algorithm, true, ['verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: { privateKey, publicKey },
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }])],
  });
  return Buffer.from(request.rawData);
}

function withoutUndefined(jwk: webcrypto.JsonWebKey): webcrypto.JsonWebKey {
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => value !== undefined));
}
