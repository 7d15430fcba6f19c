import type { AlertKind } from '../../alert-kind.ts';

/** One failed round is common: a name that does not point here yet. */
const MIN_ATTEMPTS = 2;

/** A certificate that an ACME server does not issue. */
export const certificateFailing: AlertKind = {
  name: 'certificate_failing',
  description: 'An ACME server has not issued a certificate in two rounds of attempts.',
  advice: 'check that the name points to this server and that the ACME server can reach it: postern doctor',
  sight: 'installation',
  raiseAfterMs: () => 0,
  resolveAfterMs: 60_000,
  isOn: ({ certificateDays }) => certificateDays > 0,
  createLook: () => (facts) =>
    [...facts.records('managed_certificate')].flatMap(({ id, doc }) => {
      const { job, hostname, unwanted_since: unwanted } = doc as unknown as ManagedCertificate;
      if (job === null || job.error_code === null || job.attempts < MIN_ATTEMPTS || unwanted !== null) return [];
      return [{ subject: id, state: 'bad' as const, title: `no certificate for ${hostname}: ${job.error_code}` }];
    }),
};

interface ManagedCertificate {
  readonly hostname: string;
  readonly unwanted_since: string | null;
  readonly job: { readonly error_code: string | null; readonly attempts: number } | null;
}
