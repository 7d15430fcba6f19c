import type { StoredRecord } from '../../../../store/store.ts';
import type { AlertFacts, AlertKind, Finding } from '../../alert-kind.ts';

const DAY_MS = 86_400_000;

/** A certificate that expires soon or has expired, uploaded or from an ACME server. */
export const certificateExpiring: AlertKind = {
  name: 'certificate_expiring',
  description: 'A certificate expires within alert_certificate_days, or has expired.',
  advice: 'upload a new certificate, or see why it is not renewed: postern doctor',
  sight: 'installation',
  raiseAfterMs: () => 0,
  resolveAfterMs: 0,
  isOn: ({ certificateDays }) => certificateDays > 0,
  createLook: () => (facts) => [
    ...expiring(facts, 'tls_certificate', ({ id, doc }) => `${textOf(doc['description'])}${id}`),
    ...expiring(facts, 'managed_certificate', ({ doc }) => `for ${doc['hostname'] as string}`),
  ],
};

function expiring(facts: AlertFacts, kind: string, nameOf: (record: StoredRecord) => string): readonly Finding[] {
  const found: Finding[] = [];
  for (const record of facts.records(kind)) {
    const { not_after: notAfter, unwanted_since: unwanted = null } = record.doc;
    if (typeof notAfter !== 'string' || unwanted !== null) continue;
    const leftMs = Date.parse(notAfter) - facts.nowMs;
    if (leftMs > facts.limits.certificateDays * DAY_MS) continue;
    const verb = leftMs > 0 ? 'expires' : 'expired';
    found.push({ subject: record.id, state: 'bad', title: `the certificate ${nameOf(record)} ${verb} at ${notAfter}` });
  }
  return found;
}

function textOf(description: unknown): string {
  return typeof description === 'string' && description !== '' ? `"${description}" ` : '';
}
