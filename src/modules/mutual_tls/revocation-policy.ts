import { hash, type X509Certificate } from 'node:crypto';
import { fieldsOf } from '../../kit/pki/certificate-extensions.ts';
import { isNewer, type RevocationList, stateOf } from '../../kit/pki/revocation-list.ts';
import { type CrlMode, hasIssuerName, isIssuedBy } from '../authority-crl.ts';
import type {
  ClientCertificate,
  PresentedCertificates,
  RevocationPolicy,
  RevocationVerdict,
} from '../contract/decides.ts';

interface CheckedAuthority {
  readonly id: string;
  readonly mode: CrlMode;
  readonly certificate: X509Certificate;
  /** Lists of this authority and of intermediates below it. */
  readonly lists: readonly RevocationList[];
}

type Status = { readonly is: 'good' } | { readonly is: 'revoked' | 'unknown'; readonly message: string };

const GOOD: Status = { is: 'good' };
const PASS: RevocationVerdict = { refusal: null, unchecked: null };
const NO_CHAIN: RevocationVerdict = {
  refusal: {
    reason: 'client_certificate_revocation_unknown',
    message: 'no chain from the certificate to an authority could be verified',
  },
  unchecked: null,
};

/**
 * Checks client certificates against the lists of an edge's authorities. An authority's mode applies to every
 * certificate below it, so that `hard` also requires the list of each intermediate. Undefined: nothing is to be
 * checked.
 */
export function revocationPolicy(
  authorities: readonly CheckedAuthority[],
  nowMs: number,
): RevocationPolicy | undefined {
  const checking = authorities.filter(({ mode }) => mode !== 'off');
  if (checking.length === 0) return undefined;
  const lists = checking.flatMap((authority) => authority.lists);
  const modes = strictestModes(authorities);
  const anchors = authorities.map(({ certificate }) => certificate);
  const anchorKey = anchors.map(({ fingerprint256 }) => fingerprint256).join(' ');
  const standing = authorities.map(({ id, mode, lists: own }) => [
    id,
    mode,
    own.map((list) => [list.digest, stateOf(list, nowMs)]),
  ]);
  return {
    version: hash('sha256', JSON.stringify(standing)),
    judge: (client, presented, judgedAtMs) => {
      const links = linksOf(client, presented, anchors, anchorKey);
      return links === null ? NO_CHAIN : judgeLinks(links, modes, lists, judgedAtMs);
    },
  };
}

function strictestModes(authorities: readonly CheckedAuthority[]): ReadonlyMap<string, CrlMode> {
  const modes = new Map<string, CrlMode>();
  for (const { certificate, mode } of authorities) {
    const print = certificate.fingerprint256;
    modes.set(print, stricter(mode, modes.get(print) ?? 'off'));
  }
  return modes;
}

function stricter(one: CrlMode, other: CrlMode): CrlMode {
  if (one === 'hard' || other === 'hard') return 'hard';
  return one === 'soft' || other === 'soft' ? 'soft' : 'off';
}

function judgeLinks(
  links: readonly IssuerLink[],
  modes: ReadonlyMap<string, CrlMode>,
  lists: readonly RevocationList[],
  nowMs: number,
): RevocationVerdict {
  let unchecked: string | null = null;
  let unknown: string | null = null;
  for (const { certificate, issuer, anchors } of links) {
    let mode: CrlMode = 'off';
    for (const print of anchors) mode = stricter(mode, modes.get(print) ?? 'off');
    if (mode === 'off') continue;
    const status = statusOf(certificate, issuer, lists, nowMs);
    if (status.is === 'good') continue;
    if (status.is === 'revoked') {
      return { refusal: { reason: 'client_certificate_revoked', message: status.message }, unchecked: null };
    }
    if (mode === 'hard') unknown ??= status.message;
    else unchecked ??= status.message;
  }
  // Known to be revoked says more: it is looked for first, in the whole chain.
  if (unknown !== null) {
    return { refusal: { reason: 'client_certificate_revocation_unknown', message: unknown }, unchecked: null };
  }
  return unchecked === null ? PASS : { refusal: null, unchecked };
}

function statusOf(
  certificate: X509Certificate,
  issuer: X509Certificate,
  lists: readonly RevocationList[],
  nowMs: number,
): Status {
  const named = lists.filter((list) => hasIssuerName(list, issuer));
  const of = `the revocation list of "${nameOf(issuer)}"`;
  if (named.length === 0) return { is: 'unknown', message: `${of} is missing` };
  const verified = named.filter((list) => isIssuedBy(list, issuer));
  if (verified.length === 0) return { is: 'unknown', message: `${of} was not signed by this issuer` };
  const covering = verified.filter((list) => isCovered(certificate, list));
  if (covering.length === 0) return { is: 'unknown', message: `${of} does not cover this certificate` };
  const begun = covering.filter((list) => stateOf(list, nowMs) !== 'not_yet_valid');
  if (begun.length === 0) return { is: 'unknown', message: `${of} is not yet valid` };
  const newest = begun.reduce((best, list) => (isNewer(list, best) ? list : best));
  // Also on a stale list: a revocation is not undone by time.
  if (newest.serials.has(fieldsOf(certificate).serial)) {
    return { is: 'revoked', message: `the certificate ${certificate.serialNumber} is on ${of}` };
  }
  return stateOf(newest, nowMs) === 'current' ? GOOD : { is: 'unknown', message: `${of} is stale` };
}

/** RFC 5280 §6.3.3 (b)(2). */
function isCovered(certificate: X509Certificate, { covers, distributionPoints }: RevocationList): boolean {
  if (covers !== 'all' && (covers === 'ca') !== certificate.ca) return false;
  if (distributionPoints === null) return true;
  const own = fieldsOf(certificate).distributionPoints;
  return distributionPoints.some((name) => own.some((other) => other.equals(name)));
}

/** For log lines. */
function nameOf(certificate: X509Certificate): string {
  return certificate.subject.replaceAll('\n', ', ').slice(0, 200);
}

interface RememberedLinks {
  readonly anchorKey: string;
  readonly links: readonly IssuerLink[] | null;
}

/** A connection has one certificate, and every change of a list judges it again. */
const LINKS = new WeakMap<ClientCertificate, RememberedLinks>();

function linksOf(
  client: ClientCertificate,
  presented: PresentedCertificates,
  anchors: readonly X509Certificate[],
  anchorKey: string,
): readonly IssuerLink[] | null {
  const known = LINKS.get(client);
  if (known?.anchorKey === anchorKey) return known.links;
  const links = issuerLinks(presented(), anchors);
  LINKS.set(client, { anchorKey, links });
  return links;
}

/** A certificate, one that issued it, and the anchors that trust in it rests on. */
interface IssuerLink {
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
function issuerLinks(
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
