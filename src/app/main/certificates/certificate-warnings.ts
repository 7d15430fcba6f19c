import type { HostCertificates } from '../../../control/resources/ports.ts';
import { namesIn } from '../../../edges/owned-names.ts';
import { edgeKindOfRecord } from '../../../edges/record-kinds.ts';
import type { Clock } from '../../../kit/clock.ts';
import { CRL_KIND, crlId, crlModeOf, crlStatus } from '../../../modules/authority-crl.ts';
import { MANAGED_CERTIFICATE, type ManagedCertificateDoc, managedStatus } from '../../../proxy/acme/records.ts';
import { CERTIFICATE_KIND, DOMAIN_KIND, UploadedCertificates } from '../../../proxy/edge/tls/certificate-store.ts';
import { problemLine } from '../../../proxy/snapshot/problems.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Change, StoredRecord } from '../../../store/store.ts';

interface WarningOptions {
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
  return edgeKindOfRecord(kind)?.endsTls === true ? [...new Set(namesIn(doc))] : [];
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

const AUTHORITY_KIND = 'certificate_authority';

/** Why the clients of an authority are not checked for revocation, or all rejected, as one line of ASCII. */
export function crlWarning({ kind, id, doc }: StoredRecord, reader: RecordReader, clock: Clock): string | undefined {
  if (kind !== AUTHORITY_KIND) return undefined;
  const { status } = crlStatus(doc, reader.get(CRL_KIND, crlId(id))?.doc, clock.nowMs());
  if (status === 'off' || status === 'current') return undefined;
  const effect = crlModeOf(doc) === 'hard' ? 'are rejected' : 'are accepted without a check';
  const message = `the revocation list is ${status.replaceAll('_', ' ')}; client certificates of this authority ${effect}`;
  return problemLine([{ module: 'crl', message, place: id }]);
}

/** Finds certificates by host name for the API, also in a process without an edge. Follows the replica. */
export class HostCertificateIndex implements HostCertificates {
  readonly #clock: Clock;
  readonly #uploaded = new UploadedCertificates();
  readonly #managed = new Map<string, StoredRecord>();
  readonly #names = new Map<string, string>();

  constructor(replica: Pick<Replica, 'all' | 'onChange'>, clock: Clock) {
    this.#clock = clock;
    const kinds = [CERTIFICATE_KIND, DOMAIN_KIND, MANAGED_CERTIFICATE];
    for (const kind of kinds) for (const record of replica.all(kind)) this.#apply({ op: 'put', record });
    replica.onChange((changes) => {
      for (const change of changes) this.#apply(change);
    }, kinds);
  }

  managed(hostname: string): StoredRecord | undefined {
    return this.#managed.get(hostname);
  }

  uploaded(hostname: string): string | null {
    return this.#uploaded.findId(hostname, this.#clock.nowMs());
  }

  #apply(change: Change): void {
    const { kind, id } = change.op === 'put' ? change.record : change.key;
    this.#uploaded.apply(change);
    if (kind !== MANAGED_CERTIFICATE) return;
    const before = this.#names.get(id);
    // When everything is reloaded, the successor may be reported before this one's removal.
    if (before !== undefined && this.#managed.get(before)?.id === id) this.#managed.delete(before);
    this.#names.delete(id);
    if (change.op === 'delete') return;
    const hostname = change.record.doc['hostname'] as string;
    this.#names.set(id, hostname);
    this.#managed.set(hostname, change.record);
  }
}
