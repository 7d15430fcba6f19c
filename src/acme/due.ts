import type { CertificateWorker, ManagedCertificateDoc } from './records.ts';

export interface WorkerView {
  readonly bootId: string;
  /** No other process uses the store: leases of others are left over. */
  readonly isAlone: boolean;
  /** Whether this process works on the record now. */
  readonly isRunning: boolean;
  readonly nowMs: number;
}

/** When another node's lease ends; null if nobody else works on it. */
export function leasedUntilMs(worker: CertificateWorker | null, view: WorkerView): number | null {
  if (worker === null) return null;
  if (worker.boot_id === view.bootId) return view.isRunning ? Number.POSITIVE_INFINITY : null;
  const untilMs = Date.parse(worker.until);
  return view.isAlone || !(untilMs > view.nowMs) ? null : untilMs;
}

export interface Due {
  readonly atMs: number;
  /** `check`: only the renewal information is read. */
  readonly kind: 'issue' | 'check';
}

/** When there is something to do for a name. Null: nothing, as far as is known now. */
export function dueOf(doc: ManagedCertificateDoc, view: WorkerView): Due | null {
  if (doc.unwanted_since !== null) return null;
  const leasedMs = leasedUntilMs(doc.worker, view);
  const [issueMs, checkMs] = [issueAtMs(doc), timeOf(doc.renewal_check_at)];
  const due: Due =
    checkMs !== null && checkMs < issueMs ? { atMs: checkMs, kind: 'check' } : { atMs: issueMs, kind: 'issue' };
  const atMs = Math.max(due.atMs, leasedMs ?? 0);
  return atMs === Number.POSITIVE_INFINITY ? null : { ...due, atMs };
}

function issueAtMs({ job, certificate_pem: pem, renews_at: renewsAt }: ManagedCertificateDoc): number {
  // Without a time the attempt was interrupted.
  if (job !== null) return timeOf(job.retries_at) ?? 0;
  if (pem === null) return 0;
  return timeOf(renewsAt) ?? 0;
}

function timeOf(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
