import type { X509Certificate } from 'node:crypto';
import { certificatesIn } from '../../lib/describe-certificate.ts';
import type { ClientCertificate, TlsPolicy } from '../../modules/prepared-module.ts';
import { describedCertificate } from '../tls/client-certificate.ts';

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

/** Each certificate is tried once, so a chain that runs in circles ends. */
function isVouchedFor(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  const isIssuedBy = (issuer: X509Certificate): boolean =>
    certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  if (authorities.some((authority) => authority.ca && isIssuedBy(authority))) return true;
  return others.some(
    (other) =>
      other.ca &&
      isIssuedBy(other) &&
      isVouchedFor(
        other,
        others.filter((each) => each !== other),
        authorities,
      ),
  );
}
