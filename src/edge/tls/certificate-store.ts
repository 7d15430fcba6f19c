import type { Clock } from '../../lib/clock.ts';
import type { InternalCa } from '../../pki/internal-ca.ts';
import { ManagedCertificates } from '../../pki/managed-certificates.ts';
import type { CertificateRecords } from './certificate-records.ts';
import { MintedLeaves } from './minted-leaves.ts';
import type { ServedCertificate } from './served-certificate.ts';
import { CERTIFICATE_KIND, DOMAIN_KIND, UploadedCertificates } from './uploaded-certificates.ts';

/** The authority in a domain's policy that stands for the configured ACME servers. */
const MANAGED_AUTHORITY = 'letsencrypt';

export interface CertificateStoreOptions {
  readonly records: CertificateRecords;
  readonly ca: Pick<InternalCa, 'mintLeaf'>;
  readonly clock: Clock;
  /** A leaf of the internal CA could not be renewed, or a managed certificate is unusable. */
  readonly onProblem: (host: string, error: unknown) => void;
}

export interface CertificateStore {
  /**
   * For configured hosts only: the caller has checked that. A promise only while the internal CA issues one.
   * `isListed`: an edge or endpoint has exactly this name; names below wildcards, which anybody can invent, never take
   * its slot.
   */
  certificateFor(host: string, isListed?: boolean): ServedCertificate | Promise<ServedCertificate>;
  /** These hosts are no longer served. Returns the certificates issued only for them. */
  forget(hosts: readonly string[]): readonly ServedCertificate[];
  close(): void;
}

/**
 * Selects a host's certificate: the best uploaded one, otherwise one that an ACME server issued, otherwise one of the
 * internal CA. A domain's policy can ask for one of the last two. Follows the configuration immediately.
 */
export function createCertificateStore({ records, ca, clock, onProblem }: CertificateStoreOptions): CertificateStore {
  const uploaded = new UploadedCertificates();
  const managed = new ManagedCertificates({ records, onProblem });
  const minted = new MintedLeaves({ ca, clock, onProblem });
  const kinds = [CERTIFICATE_KIND, DOMAIN_KIND];
  for (const kind of kinds) for (const record of records.all(kind)) uploaded.apply({ op: 'put', record });
  const unsubscribe = records.onChange((changes) => {
    for (const change of changes) uploaded.apply(change);
  }, kinds);
  const findManaged = (host: string, nowMs: number): ServedCertificate | null => {
    const pair = managed.find(host, nowMs);
    return pair === null ? null : { source: 'managed', ...pair };
  };
  const find = (host: string): ServedCertificate | null => {
    const nowMs = clock.nowMs();
    const authority = uploaded.authorityOf(host);
    if (authority === null) return uploaded.find(host, nowMs) ?? findManaged(host, nowMs);
    // Until an explicitly managed name has its certificate, an uploaded one is better than one that nobody trusts.
    return authority === MANAGED_AUTHORITY ? (findManaged(host, nowMs) ?? uploaded.find(host, nowMs)) : null;
  };
  return {
    certificateFor: (host, isListed = false) => find(host) ?? minted.get(host, isListed),
    forget: (hosts) => hosts.flatMap((host) => minted.forget(host)),
    close: () => {
      unsubscribe();
      managed.close();
    },
  };
}
