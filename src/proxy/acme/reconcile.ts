import { TimeSlice } from '../../kit/async/slices.ts';
import { rfc3339 } from '../../kit/clock.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Store, StoredRecord } from '../../store/store.ts';
import { ACME_QUEUE, type WantedName, type WantedNames } from './names.ts';
import { challengeKeys } from './orders/authorize.ts';
import { managedPut } from './orders/lease.ts';
import { type CertificateWorker, MANAGED_CERTIFICATE, type ManagedCertificateDoc } from './records.ts';

interface ReconcileOptions {
  readonly store: Store;
  readonly replica: Replica;
  readonly nowMs: number;
  readonly viewOf: (recordId: string) => WorkerView;
  readonly newId: () => string;
  /** The record of a name was removed. */
  readonly removed: (doc: ManagedCertificateDoc) => void;
}

const HOUR_MS = 60 * 60 * 1000;
/** A name that was removed by mistake keeps its certificate for this time, so that restoring it orders nothing. */
const GRACE_MS = 24 * HOUR_MS;
const OWN_NAME_MS = 7 * 24 * HOUR_MS;
const BATCH = 100;

/**
 * Brings the records in line with the names that are wanted. Returns whether a leased record has to be looked at again.
 */
export async function reconcile({ names }: WantedNames, options: ReconcileOptions): Promise<boolean> {
  const { replica } = options;
  const records = new Map<string, StoredRecord>();
  for (const record of replica.all(MANAGED_CERTIFICATE))
    records.set((record.doc as ManagedCertificateDoc).hostname, record);
  const missing = [...names].filter(([hostname]) => !records.has(hostname));
  for (let start = 0; start < missing.length; start += BATCH) {
    await create(missing.slice(start, start + BATCH), options);
  }
  let isIncomplete = false;
  const slice = new TimeSlice(ACME_QUEUE);
  for (const [hostname, record] of records) {
    // Awaiting something that is done does not let other work run.
    if (slice.isOver) await slice.next();
    if (!(await adjust(record, names.get(hostname) ?? null, options))) isIncomplete = true;
  }
  return isIncomplete;
}

async function create(names: readonly (readonly [string, WantedName])[], options: ReconcileOptions): Promise<void> {
  const put = ([hostname, wanted]: readonly [string, WantedName]) =>
    managedPut(options.newId(), newDoc(hostname, wanted, options.nowMs), null);
  const { ok } = await options.store.commit({ puts: names.map(put) });
  if (ok || names.length === 1) return;
  // Another node added one of them at the same time.
  await options.replica.refresh();
  for (const name of names) await options.store.commit({ puts: [put(name)] });
}

/** False: a worker has the record. */
async function adjust(record: StoredRecord, wanted: WantedName | null, options: ReconcileOptions): Promise<boolean> {
  const { store, replica, nowMs, viewOf } = options;
  const { kind, id, revision } = record;
  const doc = record.doc as ManagedCertificateDoc;
  const change = changeOf(doc, wanted, nowMs);
  if (change === null) return true;
  if (leasedUntilMs(doc.worker, viewOf(id)) !== null) return false;
  const expect = [{ kind, id, revision }];
  if (change === 'remove') {
    const { ok } = await store.commit({ expect, deletes: [{ kind, id }, ...challengeKeys(replica, doc.hostname)] });
    if (ok) options.removed(doc);
  } else {
    await store.commit({ expect, puts: [managedPut(id, { ...doc, ...change, worker: null }, record.secrets)] });
  }
  return true;
}

function changeOf(
  doc: ManagedCertificateDoc,
  wanted: WantedName | null,
  nowMs: number,
): Partial<ManagedCertificateDoc> | 'remove' | null {
  const ownUntilMs = doc.own_name_until === null ? 0 : Date.parse(doc.own_name_until);
  if (wanted === null) {
    // Another node's settings name it.
    if (ownUntilMs > nowMs) return null;
    if (doc.unwanted_since === null) return { unwanted_since: rfc3339(nowMs) };
    return nowMs - Date.parse(doc.unwanted_since) >= GRACE_MS ? 'remove' : null;
  }
  const changes: Partial<ManagedCertificateDoc> = {
    ...(doc.unwanted_since !== null && { unwanted_since: null }),
    ...(wanted.isOwn && ownUntilMs < nowMs + OWN_NAME_MS / 2 && { own_name_until: rfc3339(nowMs + OWN_NAME_MS) }),
    ...(wanted.keyType !== doc.private_key_type && {
      private_key_type: wanted.keyType,
      // The certificate has a key of the other type.
      ...(doc.certificate_pem !== null && { renews_at: rfc3339(nowMs), renewal_check_at: null }),
    }),
  };
  return Object.keys(changes).length === 0 ? null : changes;
}

function newDoc(hostname: string, { keyType, isOwn }: WantedName, nowMs: number): ManagedCertificateDoc {
  return {
    hostname,
    private_key_type: keyType,
    created_at: rfc3339(nowMs),
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
    own_name_until: isOwn ? rfc3339(nowMs + OWN_NAME_MS) : null,
    job: null,
    order: null,
    worker: null,
  };
}

export interface WorkerView {
  readonly bootId: string;
  /** No other process uses the store: leases of others are left over. */
  readonly isAlone: boolean;
  /** Whether this process works on the record now. */
  readonly isRunning: boolean;
  readonly nowMs: number;
}

/** When another node's lease ends; null if nobody else works on it. */
function leasedUntilMs(worker: CertificateWorker | null, view: WorkerView): number | null {
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
