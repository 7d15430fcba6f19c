import type { X509Certificate } from 'node:crypto';
import { certificatesIn } from '../../lib/describe-certificate.ts';
import type { ClientCertificate, TlsPolicy } from '../../modules/prepared-module.ts';
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
  if (!isVouchedFor(leaf, others, clientAuthorities.flatMap(certificatesIn)))
    return { reason: 'client_certificate', text: UNTRUSTED };
  const certificate = describedCertificate(leaf);
  if (nowMs < certificate.notBeforeMs || nowMs >= certificate.notAfterMs)
    return { reason: 'client_certificate', text: EXPIRED };
  const { refusal = null } = revocation?.judge(certificate, () => presented, nowMs) ?? {};
  return refusal === null ? { certificate } : { reason: refusal.reason, text: `${refusal.message}.` };
}

/**
 * Walks up from the client's certificate. Each certificate is visited once, and signatures are few: seven self-signed
 * ones with one name and key took 2.4 s when all of their orders were tried.
 */
function isVouchedFor(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  let signatures = 0;
  const isIssued = (certificate: X509Certificate, issuer: X509Certificate): boolean => {
    if (!issuer.ca || signatures === MAX_SIGNATURES || !certificate.checkIssued(issuer)) return false;
    signatures += 1;
    return isSignedBy(certificate, issuer);
  };
  const unvisited = new Set(others.slice(0, MAX_PRESENTED - 1));
  const reached = new Set([leaf]);
  // Grows while it is iterated.
  for (const certificate of reached) {
    if (authorities.some((authority) => isIssued(certificate, authority))) return true;
    for (const other of unvisited) if (isIssued(certificate, other) && unvisited.delete(other)) reached.add(other);
  }
  return false;
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    // A key of an unknown type.
    return false;
  }
}
