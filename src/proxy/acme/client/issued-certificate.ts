import { createPrivateKey, generateKeyPair, type X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { isJsonObject } from '../../../kit/json.ts';
import { fieldsOf } from '../../../kit/pki/certificate-extensions.ts';
import { certificatesIn } from '../../../kit/pki/describe-certificate.ts';
import type { PrivateKeyType } from '../records.ts';
import { AcmeFailure } from './acme-failure.ts';
import type { AcmeServer } from './acme-server.ts';

export interface IssuedCertificate {
  /** Leaf first, nothing but certificates. */
  readonly certificatePem: string;
  readonly serialNumber: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const EXACT = { subject: 'never', wildcards: false } as const;

/** Checks what the server issued before it replaces a certificate that works. */
export function issuedCertificate(
  chainPem: string,
  {
    privateKeyPem,
    hostname,
    nowMs,
  }: { readonly privateKeyPem: string; readonly hostname: string; readonly nowMs: number },
): IssuedCertificate {
  const { chain, leaf, serial } = readChain(chainPem);
  if (!leaf.checkPrivateKey(createPrivateKey(privateKeyPem))) throw unusable('it is not for the key of the order');
  if (leaf.checkHost(hostname, EXACT) === undefined) throw unusable(`it is not for ${hostname}`);
  const [notBeforeMs, notAfterMs] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  if (Number.isNaN(notBeforeMs) || Number.isNaN(notAfterMs)) throw unusable('its dates cannot be read');
  if (notAfterMs <= nowMs) {
    throw unusable(`it expired at ${leaf.validToDate.toISOString()}: check the clock of this server`);
  }
  return {
    certificatePem: chain.map((certificate) => certificate.toString()).join(''),
    serialNumber: serial.toString('hex'),
    notBeforeMs,
    notAfterMs,
  };
}

/** Only by the runtime: the ASN.1 library takes 80 ms for a certificate with 1000 names, which has 6 KB. */
function readChain(pem: string) {
  try {
    const chain = certificatesIn(pem);
    const leaf = chain[0] as X509Certificate;
    return { chain, leaf, serial: fieldsOf(leaf).serial };
  } catch (error) {
    throw unusable(error instanceof Error ? error.message : 'it is not a PEM certificate chain');
  }
}

/** Identifier of RFC 9773 §4.1. Null for a certificate without an authority key identifier. */
export function renewalId(certificatePem: string): string | null {
  try {
    const { serial, authorityKeyId } = fieldsOf(certificatesIn(certificatePem)[0] as X509Certificate);
    return authorityKeyId === null ? null : `${authorityKeyId.toString('base64url')}.${serial.toString('base64url')}`;
  } catch {
    // Renewal does not depend on it.
    return null;
  }
}

function unusable(reason: string): AcmeFailure {
  return new AcmeFailure('ERR_POSTERN_ACME_CERTIFICATE', `the issued certificate cannot be used: ${reason}`);
}

const RSA_BITS = 2048;

/** PKCS #8 PEM. */
export async function newPrivateKeyPem(type: PrivateKeyType): Promise<string> {
  const generate = promisify(generateKeyPair);
  const { privateKey } =
    type === 'rsa' ? await generate('rsa', { modulusLength: RSA_BITS }) : await generate('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** When the server wants the certificate to be renewed (RFC 9773 §4.2). */
export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
  /** When to ask again. */
  readonly retryAtMs: number | null;
}

/** Null: the server has no renewal information. */
export async function renewalWindow(
  server: AcmeServer,
  renewalId: string,
  signal: AbortSignal,
): Promise<RenewalWindow | null> {
  const { renewalInfo } = await server.directory();
  if (renewalInfo === null) return null;
  const url = `${renewalInfo.replace(/\/$/, '')}/${renewalId}`;
  const { json, retryAtMs } = await server.get(url, 'did not return renewal information', signal);
  const window = isJsonObject(json) ? json['suggestedWindow'] : null;
  const { start, end } = isJsonObject(window) ? window : {};
  const startMs = typeof start === 'string' ? Date.parse(start) : Number.NaN;
  const endMs = typeof end === 'string' ? Date.parse(end) : Number.NaN;
  // An inverted window is to be treated as no information (RFC 9773 §4.2).
  if (!(endMs > startMs)) {
    throw new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', `${server.host} sent no usable renewal window`);
  }
  return { startMs, endMs, retryAtMs };
}
