import { type ManagedCertificateDoc, managedStatus } from '../../acme/records.ts';
import type { Clock } from '../../lib/clock.ts';
import { hostOf } from '../../lib/net/split-address.ts';
import type { HostCertificates } from '../../resources/ports.ts';
import { problemLine } from '../../snapshot/problems.ts';
import type { StoredRecord } from '../../store/store.ts';

export interface WarningOptions {
  readonly hostCertificates: HostCertificates;
  readonly clock: Clock;
  readonly isAcmeOn: boolean;
}

/**
 * What is wrong with the certificates of an edge's hosts or of a domain, as one line of ASCII. Traffic is served
 * meanwhile, so it is a warning and not a problem.
 */
export function certificateWarning(record: StoredRecord, options: WarningOptions): string | undefined {
  const warnings = hostsOf(record).flatMap((host) => {
    const message = hostWarning(host, options) ?? policyWarning(record, options);
    return message === null ? [] : [{ module: 'certificate', message, place: host }];
  });
  return warnings.length === 0 ? undefined : problemLine(warnings);
}

function hostsOf({ kind, doc }: StoredRecord): readonly string[] {
  if (kind === 'reserved_domain') return [doc['domain'] as string];
  if (kind !== 'https_edge') return [];
  const hostports = (doc['hostports'] ?? []) as readonly string[];
  return [...new Set(hostports.map(hostOf))];
}

function hostWarning(host: string, { hostCertificates, clock }: WarningOptions): string | null {
  const doc = hostCertificates.managed(host)?.doc as ManagedCertificateDoc | undefined;
  if (doc === undefined || doc.unwanted_since !== null) return null;
  const job = doc.job?.error_code === null ? null : doc.job;
  const next = (job?.retries_at ?? null) === null ? '' : `; next attempt at ${job?.retries_at}`;
  if (managedStatus(doc, clock.nowMs()) === 'issued')
    return job === null ? null : `the renewal failed: ${job.msg}; it expires at ${doc.not_after}${next}`;
  // An uploaded certificate serves the name meanwhile.
  if (hostCertificates.uploaded(host) !== null) return null;
  if (job !== null) return `${job.msg}; clients get a certificate of the internal CA${next}`;
  return doc.not_after === null ? null : `it expired at ${doc.not_after}; clients get a certificate of the internal CA`;
}

function policyWarning({ doc }: StoredRecord, { isAcmeOn }: WarningOptions): string | null {
  const policy = doc['certificate_management_policy'] as { readonly authority?: string } | null | undefined;
  if (policy?.authority !== 'letsencrypt' || isAcmeOn) return null;
  return 'the policy asks for "letsencrypt", but this server orders no certificates: set acme (POSTERN_ACME) to "on"';
}
