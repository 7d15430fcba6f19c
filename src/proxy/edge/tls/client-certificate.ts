import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import { legacyCertificate } from '../../../kit/pki/describe-certificate.ts';
import type { ClientCertificate, RevocationPolicy, RevocationVerdict } from '../../../modules/contract/decides.ts';

/** OpenSSL accepts a message of 100 KB, which is hundreds of certificates. */
export const MAX_PRESENTED = 16;

/**
 * The certificate verified by this connection's own handshake; null when there is none, or another handshake verified
 * it.
 */
export function verifiedCertificateOf(socket: TLSSocket): ClientCertificate | null {
  // A resumed session counts as authorized no matter when and against what its certificate was checked.
  if (!socket.authorized || socket.isSessionReused()) return null;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return null;
  const verified = describedCertificate(certificate);
  SOCKETS.set(verified, socket);
  return verified;
}

export function describedCertificate(certificate: X509Certificate): ClientCertificate {
  const { subject, issuer } = legacyCertificate(certificate);
  return {
    der: certificate.raw,
    subjectCommonName: firstOf(subject?.CN),
    serialNumber: certificate.serialNumber,
    fingerprint256: certificate.fingerprint256,
    issuerCommonName: firstOf(issuer?.CN),
    notBeforeMs: certificate.validFromDate.getTime(),
    notAfterMs: certificate.validToDate.getTime(),
    subjectAltNames: certificate.subjectAltName ?? '',
  };
}

/** Read only where a revocation list asks for them. */
const SOCKETS = new WeakMap<ClientCertificate, TLSSocket>();

/**
 * The certificates that came with this one, in the order sent. The runtime links each to the next, whether or not that
 * one issued it.
 */
function presentedWith(certificate: ClientCertificate): readonly X509Certificate[] {
  const presented: X509Certificate[] = [];
  let next = SOCKETS.get(certificate)?.getPeerX509Certificate();
  while (next !== undefined && presented.length < MAX_PRESENTED) {
    presented.push(next);
    next = next.issuerCertificate;
  }
  return presented;
}

function firstOf(name: string | readonly string[] | undefined): string {
  return (typeof name === 'string' ? name : name?.[0]) ?? '';
}

const FAILED: RevocationVerdict = {
  refusal: { reason: 'client_certificate_revocation_unknown', message: 'the check failed' },
  unchecked: null,
};

/** A check that fails accepts nobody. */
export function judgeRevocation(
  policy: RevocationPolicy,
  certificate: ClientCertificate,
  nowMs: number,
): RevocationVerdict {
  try {
    return policy.judge(certificate, () => presentedWith(certificate), nowMs);
  } catch (error) {
    reportBug(error, {});
    return FAILED;
  }
}
