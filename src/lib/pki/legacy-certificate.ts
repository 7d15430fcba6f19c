// Before the first call: a process that calls it without this module cannot open TLS connections afterwards (Node 26.10).
import 'node:tls';
import type { X509Certificate } from 'node:crypto';

/** Subject and issuer as objects. */
export function legacyCertificate(certificate: X509Certificate): ReturnType<X509Certificate['toLegacyObject']> {
  return certificate.toLegacyObject();
}
