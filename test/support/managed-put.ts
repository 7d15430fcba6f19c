import type { CertificateJob, ManagedCertificateDoc } from '../../src/proxy/acme/records.ts';
import type { RecordPut } from '../../src/store/store.ts';

export const FAILED_JOB: CertificateJob = {
  started_at: '2026-11-01T09:30:00.000Z',
  retries_at: '2026-11-01T09:35:00.000Z',
  attempts: 1,
  error_code: 'ERR_POSTERN_ACME_VALIDATION',
  msg: 'the name resolves to 192.0.2.7, which is not this server',
  directory_index: 0,
  holds: {},
};

/** A name under management, as the ACME worker stores it before its first certificate. */
export function managedPut(id: string, hostname: string, doc: Partial<ManagedCertificateDoc> = {}): RecordPut {
  const whole: ManagedCertificateDoc = {
    hostname,
    private_key_type: 'ecdsa',
    created_at: '2026-11-01T09:30:00.000Z',
    certificate_pem: null,
    serial_number: null,
    not_before: null,
    not_after: null,
    directory_url: null,
    challenge_type: null,
    renews_at: null,
    renewal_checked_at: null,
    renewal_check_at: null,
    expiring_reported: null,
    unwanted_since: null,
    own_name_until: null,
    job: null,
    order: null,
    worker: null,
    ...doc,
  };
  return { kind: 'managed_certificate', id, parent: null, doc: whole, secrets: null, uniqueKeys: [], references: [] };
}
