import type { Check } from './check.ts';
import type { CheckedManagedCertificate } from './facts.ts';
import { type Finding, findingMaker } from './finding.ts';
import { remainingTime } from './remaining-time.ts';

const LATE_MS = 24 * 60 * 60 * 1000;

const found = findingMaker('managed_certificates');

/** Certificates from ACME servers. */
export const managedCertificates: Check = {
  name: 'managed_certificates',
  nouns: ['managed_certificates'],
  *run({ managed_certificates: managed, nowMs }) {
    for (const certificate of managed) yield judge(certificate, nowMs);
  },
};

function judge(certificate: CheckedManagedCertificate, nowMs: number): Finding {
  const { id, hostname, status, not_after: end, renews_at: renewsAt, provisioning_job: job } = certificate;
  const failure = job === null || job.error_code === null ? null : `${job.msg} (${job.error_code})`;
  const next = (job?.retries_at ?? null) === null ? '' : `; the next attempt is at ${job?.retries_at}`;
  const advice = `remove the cause${next}`;
  if (status === 'issued' && end !== null) {
    const { words } = remainingTime(Date.parse(end), nowMs);
    if (failure !== null)
      return found.warning(`${hostname} ${words}, and its renewal failed: ${failure}`, advice, { id });
    if (renewsAt === null || Date.parse(renewsAt) + LATE_MS >= nowMs) return found.ok(`${hostname} ${words}`);
    return found.warning(
      `${hostname} ${words}, and was to be renewed at ${renewsAt}`,
      'check that a process with the edge role and acme on is running',
      { id },
    );
  }
  if (failure !== null)
    return found.problem(`${hostname} has no certificate that clients trust: ${failure}`, advice, { id });
  if (end !== null)
    return found.problem(
      `${hostname} has no certificate that clients trust: the last one ${remainingTime(Date.parse(end), nowMs).words}, and its renewal has not ended yet`,
      'check that the ACME server can be reached and answers; the log of the server has more',
      { id },
    );
  return found.hint(`${hostname} waits for its first certificate`, 'check again in a minute', { id });
}
