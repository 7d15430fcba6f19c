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
  const isUsable = (certificate: X509Certificate): boolean => isValid(certificate) && isForClients(certificate);
  return isForClients(leaf) && isVouchedFor(leaf, others, authorities, isUsable) ? null : OTHER_USAGE;
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
  isTaken: (issuer: X509Certificate) => boolean,
): boolean {
  let signatures = 0;
  const isIssued = (certificate: X509Certificate, issuer: X509Certificate): boolean => {
    if (!issuer.ca || !isTaken(issuer) || signatures === MAX_SIGNATURES || !certificate.checkIssued(issuer))
      return false;
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
