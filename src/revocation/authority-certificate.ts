import { X509Certificate } from 'node:crypto';
import type { JsonObject } from '../lib/json.ts';

/** Records are immutable, so their certificate is parsed once. */
const PARSED = new WeakMap<JsonObject, X509Certificate>();

/** The certificate of an authority's record. Throws when it is none, but not for one that was accepted on write. */
export function authorityCertificate(authority: JsonObject): X509Certificate {
  let certificate = PARSED.get(authority);
  if (certificate === undefined) {
    certificate = new X509Certificate(authority['ca_pem'] as string);
    PARSED.set(authority, certificate);
  }
  return certificate;
}
