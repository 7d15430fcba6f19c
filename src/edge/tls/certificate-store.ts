import type { Clock } from '../../lib/clock.ts';
import type { InternalCa } from '../../pki/internal-ca.ts';
import type { CertificateRecords } from './certificate-records.ts';
import { MintedLeaves } from './minted-leaves.ts';
import type { ServedCertificate } from './served-certificate.ts';
import { CERTIFICATE_KIND, DOMAIN_KIND, UploadedCertificates } from './uploaded-certificates.ts';

export interface CertificateStoreOptions {
  readonly records: CertificateRecords;
  readonly ca: Pick<InternalCa, 'mintLeaf'>;
  readonly clock: Clock;
  /** A leaf of the internal CA could not be renewed or issued ahead of time. */
  readonly onProblem: (host: string, error: unknown) => void;
}

export interface CertificateStore {
  /**
   * For configured hosts only: the caller has checked that. A promise only while the internal CA issues one.
   * `isListed`: an edge or endpoint has exactly this name; names below wildcards, which anybody can invent, never take
   * its slot.
   */
  certificateFor(host: string, isListed?: boolean): ServedCertificate | Promise<ServedCertificate>;
  /**
   * Issues certificates for these hosts ahead of time, so that their first visitor does not wait. Wildcards are
   * skipped.
   */
  warm(hosts: readonly string[]): Promise<void>;
  /** These hosts are no longer served. Returns the certificates issued only for them. */
  forget(hosts: readonly string[]): readonly ServedCertificate[];
  close(): void;
}

/**
 * Selects a host's certificate: the best uploaded one, otherwise one of the internal CA. Follows the configuration
 * immediately.
 */
export function createCertificateStore({ records, ca, clock, onProblem }: CertificateStoreOptions): CertificateStore {
  const uploaded = new UploadedCertificates();
  const minted = new MintedLeaves({ ca, clock, onProblem });
  for (const kind of [CERTIFICATE_KIND, DOMAIN_KIND]) {
    for (const record of records.all(kind)) uploaded.apply({ op: 'put', record });
  }
  const unsubscribe = records.onChange((changes) => {
    for (const change of changes) uploaded.apply(change);
  });
  const certificateFor = (host: string, isListed = false) =>
    uploaded.find(host, clock.nowMs()) ?? minted.get(host, isListed);
  return {
    certificateFor,
    warm: async (hosts) => {
      for (const host of hosts.filter((name) => !name.startsWith('*.'))) {
        try {
          await certificateFor(host, true);
        } catch (error) {
          onProblem(host, error);
        }
      }
    },
    forget: (hosts) => hosts.flatMap((host) => minted.forget(host)),
    close: unsubscribe,
  };
}
