import { rfc3339 } from '../../../kit/clock.ts';
import { AcmeFailure } from '../client/acme-failure.ts';
import { renewalId, renewalWindow } from '../client/issued-certificate.ts';
import type { CertificateJob, ManagedCertificateDoc } from '../records.ts';
import { challengeKeys } from './authorize.ts';
import { cleanUp, removeLeftovers } from './challenge-record.ts';
import { earliestRenewalMs, issue, renewalInWindowMs } from './issue.ts';
import type { Lease } from './lease.ts';
import type { OrderPorts } from './open-order.ts';

const HOUR_MS = 60 * 60 * 1000;
/** For a server that limits rates without saying until when. */
const RATE_LIMIT_MS = HOUR_MS;
const RENEWAL_CHECK_MS = 6 * HOUR_MS;
const SHORTEST_CHECK_MS = 60_000;
const LONGEST_CHECK_MS = 24 * HOUR_MS;
/** A certificate with less than this part of its life left is reported as expiring. */
const EXPIRING_PART = 0.2;
const MAX_MESSAGE = 1500;

export type JobOutcome = 'issued' | 'failed';

/** One round: each server in turn until one issues a certificate. A failed round ends with the time of the next. */
export async function runCertificateJob(
  recordId: string,
  lease: Lease,
  ports: OrderPorts,
  signal: AbortSignal,
): Promise<JobOutcome> {
  const messages: string[] = [];
  await removeLeftovers(lease, ports, signal);
  await dropForeignOrder(lease, ports, signal);
  for (;;) {
    const index = nextDirectory(lease.doc, ports);
    // All servers asked to be left alone, which a changed list of servers can cause.
    if (index === null) return postpone(lease, ports);
    const directoryUrl = ports.directories[index] as string;
    try {
      await issue(recordId, lease, ports, { directoryUrl, signal });
      await checkRenewal(lease, ports, signal, true);
      return 'issued';
    } catch (error) {
      if (!(error instanceof AcmeFailure) || signal.aborted) throw error;
      messages.push(error.message);
      const job = failedJob(lease.doc, ports, { directoryUrl, index, error, messages });
      await cleanUpAfter(lease, ports, error, signal, job.retries_at !== null);
      if (job.retries_at === null) {
        await lease.save({ job, order: null }, { deletes: challengeKeys(ports.replica, lease.doc.hostname) });
        continue;
      }
      await fail(recordId, lease, ports, job, error);
      return 'failed';
    }
  }
}

/** The settings no longer name the server of the order. */
async function dropForeignOrder(lease: Lease, ports: OrderPorts, signal: AbortSignal): Promise<void> {
  const { order, hostname } = lease.doc;
  if (order === null || ports.directories.includes(order.directory_url)) return;
  await cleanUp(lease, ports, signal);
  await lease.save({ order: null }, { deletes: challengeKeys(ports.replica, hostname) });
}

/** An order in flight is continued first. Null: every server is on hold. */
function nextDirectory({ order, job }: ManagedCertificateDoc, { directories, clock }: OrderPorts): number | null {
  if (order !== null) return directories.indexOf(order.directory_url);
  const isFree = (url: string): boolean => !(Date.parse(job?.holds[url] ?? '') > clock.nowMs());
  const first = job?.directory_index ?? 0;
  const index = directories.findIndex((url, at) => at >= first && isFree(url));
  const wrapped = index === -1 ? directories.findIndex(isFree) : index;
  return wrapped === -1 ? null : wrapped;
}

async function postpone(lease: Lease, ports: OrderPorts): Promise<JobOutcome> {
  const job = lease.doc.job as CertificateJob;
  const retriesAtMs = Math.min(...ports.directories.map((url) => Date.parse(job.holds[url] ?? '')));
  await lease.save({ job: { ...job, retries_at: rfc3339(retriesAtMs), directory_index: 0 } }, { isLast: true });
  return 'failed';
}

interface FailedAttempt {
  readonly directoryUrl: string;
  readonly index: number;
  readonly error: AcmeFailure;
  readonly messages: readonly string[];
}

function failedJob(
  doc: ManagedCertificateDoc,
  { clock, directories, random }: OrderPorts,
  { directoryUrl, index, error, messages }: FailedAttempt,
): CertificateJob {
  const nowMs = clock.nowMs();
  const before = doc.job as CertificateJob;
  const limitedMs = error.code === 'ERR_POSTERN_ACME_RATE_LIMITED' ? nowMs + RATE_LIMIT_MS : null;
  const holdMs = error.retryAtMs ?? limitedMs;
  const holds = Object.fromEntries(
    Object.entries({ ...before.holds, ...(holdMs !== null && { [directoryUrl]: rfc3339(holdMs) }) }).filter(
      ([url, until]) => directories.includes(url) && Date.parse(until) > nowMs,
    ),
  );
  const isHeld = (url: string): boolean => holds[url] !== undefined;
  const next = directories.findIndex((url, at) => at > index && !isHeld(url));
  const failed = {
    ...before,
    error_code: error.code,
    msg: messages.join(' | ').slice(0, MAX_MESSAGE),
    holds,
  };
  if (next !== -1) return { ...failed, directory_index: next, retries_at: null };
  const attempts = before.attempts + 1;
  const backMs = nowMs + backOffMs(attempts, random);
  const heldMs = directories.every(isHeld) ? Math.min(...Object.values(holds).map((until) => Date.parse(until))) : 0;
  return { ...failed, attempts, directory_index: 0, retries_at: rfc3339(Math.max(backMs, heldMs)) };
}

/** An order that may still succeed keeps its DNS record, because the next attempt continues it. */
async function cleanUpAfter(
  lease: Lease,
  ports: OrderPorts,
  error: AcmeFailure,
  signal: AbortSignal,
  isRoundOver: boolean,
): Promise<void> {
  if (!(isRoundOver && error.isOrderAlive)) await cleanUp(lease, ports, signal);
}

async function fail(
  recordId: string,
  lease: Lease,
  ports: OrderPorts,
  job: CertificateJob,
  error: AcmeFailure,
): Promise<void> {
  const { doc } = lease;
  const order = error.isOrderAlive ? doc.order : null;
  const isExpiring = expiresSoon(doc, ports.clock.nowMs()) && doc.expiring_reported !== doc.serial_number;
  await lease.save(
    { job, order, ...(isExpiring && { expiring_reported: doc.serial_number }) },
    {
      deletes: order === null ? challengeKeys(ports.replica, doc.hostname) : [],
      events: (saved) => [
        ...ports.event('certificate_failed.v0', recordId, saved),
        ...(isExpiring ? ports.event('certificate_expiring.v0', recordId, saved) : []),
      ],
      isLast: true,
    },
  );
  const fields = { hostname: doc.hostname, code: job.error_code, reason: job.msg, retries_at: job.retries_at };
  ports.log.warn(fields, 'failed to get a certificate');
}

function expiresSoon({ not_before: notBefore, not_after: notAfter }: ManagedCertificateDoc, nowMs: number): boolean {
  if (notBefore === null || notAfter === null) return false;
  const endMs = Date.parse(notAfter);
  return endMs - nowMs < (endMs - Date.parse(notBefore)) * EXPIRING_PART;
}

/** Asks the server when to renew (RFC 9773). Without an answer the time stays as it is. Ends the lease. */
export async function checkRenewal(
  lease: Lease,
  ports: OrderPorts,
  signal: AbortSignal,
  isJustIssued = false,
): Promise<void> {
  const { doc } = lease;
  const { certificate_pem: pem, directory_url: directoryUrl, renews_at: chosen } = doc;
  if (pem === null || directoryUrl === null || doc.renewal_check_at === null) return lease.release();
  const nowMs = ports.clock.nowMs();
  const id = renewalId(pem);
  if (id === null) return lease.save({ renewal_check_at: null }, { isLast: true });
  try {
    const window = await renewalWindow(ports.serverOf(directoryUrl), id, signal);
    if (window === null) return await lease.save({ renewal_check_at: null }, { isLast: true });
    const life = { notBeforeMs: Date.parse(doc.not_before as string), notAfterMs: Date.parse(doc.not_after as string) };
    const chosenMs = chosen === null ? null : Date.parse(chosen);
    const waitMs = (window.retryAtMs ?? nowMs + RENEWAL_CHECK_MS) - nowMs;
    const checkMs = nowMs + Math.min(Math.max(waitMs, SHORTEST_CHECK_MS), LONGEST_CHECK_MS);
    const earliestMs = isJustIssued ? earliestRenewalMs(life, nowMs) : 0;
    const renewsMs = renewalInWindowMs(window, life, chosenMs, () => ports.random());
    return await lease.save(
      {
        renews_at: rfc3339(Math.max(renewsMs, earliestMs)),
        renewal_checked_at: rfc3339(nowMs),
        renewal_check_at: rfc3339(Math.max(checkMs, earliestMs)),
      },
      { isLast: true },
    );
  } catch (error) {
    if (!(error instanceof AcmeFailure) || signal.aborted) throw error;
    return lease.save({ renewal_check_at: rfc3339(nowMs + RENEWAL_CHECK_MS) }, { isLast: true });
  }
}

const MINUTE_MS = 60_000;
const BACK_OFF_HOUR_MS = 60 * MINUTE_MS;
const STEPS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  BACK_OFF_HOUR_MS,
  6 * BACK_OFF_HOUR_MS,
  24 * BACK_OFF_HOUR_MS,
];
const SPREAD = 0.2;

/** Wait after so many failures. Spread, so that names that failed together do not return together. */
export function backOffMs(attempts: number, random: () => number): number {
  const step = STEPS_MS[Math.min(Math.max(attempts, 1), STEPS_MS.length) - 1] as number;
  return Math.round(step * (1 - SPREAD + 2 * SPREAD * random()));
}
