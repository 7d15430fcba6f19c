import type { X509Certificate } from 'node:crypto';

/** A certificate, one that issued it, and the anchors that trust in it rests on. */
export interface IssuerLink {
  readonly certificate: X509Certificate;
  readonly issuer: X509Certificate;
  /** Fingerprints of the anchors at or above the issuer. */
  readonly anchors: ReadonlySet<string>;
}

/** OpenSSL accepts longer chains, but nobody has them. */
const MAX_PRESENTED = 16;

/**
 * Links from a client's certificate up to the anchors, over the certificates that it sent; null when none reaches an
 * anchor. The runtime does not show which chain OpenSSL verified. So all of them are walked, each link is verified, and
 * all are checked: a client cannot hide a revoked intermediate behind another one.
 */
export function issuerLinks(
  presented: readonly X509Certificate[],
  anchors: readonly X509Certificate[],
): readonly IssuerLink[] | null {
  const [leaf, ...sent] = presented.slice(0, MAX_PRESENTED);
  if (leaf === undefined) return null;
  const candidates = distinct([...anchors, ...sent]);
  const issuersOf = new Map<X509Certificate, readonly X509Certificate[]>();
  const waiting = [leaf];
  for (const certificate of waiting) {
    if (issuersOf.has(certificate)) continue;
    const issuers = candidates.filter((candidate) => hasIssued(candidate, certificate));
    issuersOf.set(certificate, issuers);
    waiting.push(...issuers);
  }
  const anchorPrints = new Set(anchors.map(({ fingerprint256 }) => fingerprint256));
  const above = (certificate: X509Certificate): ReadonlySet<string> =>
    anchorsFrom(certificate, issuersOf, anchorPrints);
  if (above(leaf).size === 0) return null;
  const links: IssuerLink[] = [];
  for (const [certificate, issuers] of issuersOf) {
    for (const issuer of issuers) links.push({ certificate, issuer, anchors: above(issuer) });
  }
  return links.filter((link) => link.anchors.size > 0);
}

function distinct(certificates: readonly X509Certificate[]): readonly X509Certificate[] {
  return [...new Map(certificates.map((certificate) => [certificate.fingerprint256, certificate])).values()];
}

function hasIssued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  if (!issuer.ca || issuer.fingerprint256 === certificate.fingerprint256) return false;
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // The client may send anything, such as a key of an unknown type.
    return false;
  }
}

function anchorsFrom(
  start: X509Certificate,
  issuersOf: ReadonlyMap<X509Certificate, readonly X509Certificate[]>,
  anchorPrints: ReadonlySet<string>,
): ReadonlySet<string> {
  const reached = new Set<X509Certificate>([start]);
  // Grows while it is iterated.
  for (const certificate of reached) for (const issuer of issuersOf.get(certificate) ?? []) reached.add(issuer);
  return new Set([...reached].map(({ fingerprint256 }) => fingerprint256).filter((print) => anchorPrints.has(print)));
}
