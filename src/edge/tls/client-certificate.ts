import type { TLSSocket } from 'node:tls';
import type { ClientCertificate } from '../../modules/prepared-module.ts';

/**
 * The certificate verified by this connection's own handshake; null when there is none, or another handshake verified
 * it.
 */
export function verifiedCertificateOf(socket: TLSSocket): ClientCertificate | null {
  // A resumed session counts as authorized no matter when and against what its certificate was checked.
  if (!socket.authorized || socket.isSessionReused()) return null;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return null;
  const { subject, issuer } = certificate.toLegacyObject();
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

function firstOf(name: string | readonly string[] | undefined): string {
  return (typeof name === 'string' ? name : name?.[0]) ?? '';
}
