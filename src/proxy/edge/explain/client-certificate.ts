import type { X509Certificate } from 'node:crypto';
import { type CertificateFields, fieldsOf } from '../../../kit/pki/certificate-extensions.ts';
import { certificatesIn } from '../../../kit/pki/describe-certificate.ts';
import type { ClientCertificate, TlsPolicy } from '../../../modules/contract/decides.ts';
import { describedCertificate, MAX_PRESENTED } from '../tls/client-certificate.ts';

/** A chain needs one for each of its certificates; with names that several authorities share, a few more. */
const MAX_SIGNATURES = 32;

export type HandshakeVerdict =
  | { readonly certificate: ClientCertificate | null }
  | { readonly reason: string; readonly text: string };

const REQUIRED = 'The site requires a client certificate, and the request has none: the TLS handshake fails.';
const UNTRUSTED =
  'None of the certificate authorities of the site issued the client certificate: the TLS handshake fails.';
const EXPIRED = 'The client certificate is not valid at this time: the TLS handshake fails.';
const EXPIRED_ISSUER =
  'A certificate authority between the client certificate and the site is not valid at this time: the TLS handshake fails.';
const OTHER_USAGE =
  'The client certificate, or an authority that issued it, is not for client authentication: the TLS handshake fails.';
const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2';

/** What the handshake would say about the client's certificate. Without authorities none is asked for. */
export function judgeHandshake(
  { clientAuthorities, revocation }: TlsPolicy,
  pem: string | null,
  nowMs: number,
): HandshakeVerdict {
  if (clientAuthorities === undefined) return { certificate: null };
  const presented = pem === null ? [] : certificatesIn(pem);
  const [leaf, ...others] = presented;
  if (leaf === undefined) return { reason: 'client_certificate', text: REQUIRED };
  const problem = chainProblem(leaf, others, clientAuthorities.flatMap(certificatesIn), nowMs);
  if (problem !== null) return { reason: 'client_certificate', text: problem };
  const certificate = describedCertificate(leaf);
  const { refusal = null } = revocation?.judge(certificate, () => presented, nowMs) ?? {};
  return refusal === null ? { certificate } : { reason: refusal.reason, text: `${refusal.message}.` };
}

/** As OpenSSL decides with the purpose of a TLS client: every certificate of the chain counts, up to the authority. */
function chainProblem(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  nowMs: number,
): string | null {
  const isValid = (certificate: X509Certificate): boolean => isValidAt(certificate, nowMs);
  if (!isVouchedFor(leaf, others, authorities, () => true)) return UNTRUSTED;
  if (!isValid(leaf)) return EXPIRED;
  if (!isVouchedFor(leaf, others, authorities, isValid)) return EXPIRED_ISSUER;
  const isUsable: IsTaken = (issuer, below) =>
    isValid(issuer) && isForClients(issuer) && below <= hiddenFields(issuer).maxPathLength;
  const isUsableLeaf = isForClients(leaf) && hiddenFields(leaf).mayShakeHands;
  return isUsableLeaf && isVouchedFor(leaf, others, authorities, isUsable) ? null : OTHER_USAGE;
}

/** For a certificate that OpenSSL reads and that is not DER, OpenSSL decides alone. */
function hiddenFields(certificate: X509Certificate): Pick<CertificateFields, 'mayShakeHands' | 'maxPathLength'> {
  try {
    return fieldsOf(certificate);
  } catch {
    return { mayShakeHands: true, maxPathLength: Number.POSITIVE_INFINITY };
  }
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, nowMs: number): boolean {
  return nowMs >= validFromDate.getTime() && nowMs < validToDate.getTime();
}

/** The runtime calls the extended key usages so. A certificate without them is for everything. */
function isForClients({ keyUsage }: { readonly keyUsage?: readonly string[] | undefined }): boolean {
  return keyUsage === undefined || keyUsage.includes(CLIENT_AUTHENTICATION);
}

/**
 * Walks up from the client's certificate. Each certificate is visited once, and signatures are few: seven self-signed
 * ones with one name and key took 2.4 s when all of their orders were tried.
 */
function isVouchedFor(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  isTaken: IsTaken,
): boolean {
  let signatures = 0;
  const isIssued = (certificate: X509Certificate, issuer: X509Certificate, below: number): boolean => {
    if (!issuer.ca || !isTaken(issuer, below) || signatures === MAX_SIGNATURES) return false;
    if (!certificate.checkIssued(issuer)) return false;
    signatures += 1;
    return isSignedBy(certificate, issuer);
  };
  const unvisited = new Set(others.slice(0, MAX_PRESENTED - 1));
  const reached = new Map([[leaf, 0]]);
  // Grows while it is iterated.
  for (const [certificate, below] of reached) {
    if (authorities.some((authority) => isIssued(certificate, authority, below))) return true;
    for (const other of unvisited)
      if (isIssued(certificate, other, below) && unvisited.delete(other)) reached.set(other, below + 1);
  }
  return false;
}

/** `below`: how many authorities come between it and the client's certificate. */
type IsTaken = (issuer: X509Certificate, below: number) => boolean;

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    // A key of an unknown type.
    return false;
  }
}
