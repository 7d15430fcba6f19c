import { Counter, Gauge, type Registry } from 'prom-client';
import { type Clock, rfc3339 } from '../../kit/clock.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Change, Store, StoredRecord } from '../../store/store.ts';
import { WANTED_KINDS, type WantedNames, wantedNames } from './names.ts';
import { checkRenewal, type JobOutcome, runCertificateJob } from './orders/certificate-job.ts';
import { abandonRecords, recordsOf } from './orders/challenge-record.ts';
import { Lease, LeaseLost } from './orders/lease.ts';
import type { OrderPorts } from './orders/open-order.ts';
import { type Due, dueOf, reconcile, type WorkerView } from './reconcile.ts';
import { type CertificateJob, MANAGED_CERTIFICATE, type ManagedCertificateDoc, managedStatus } from './records.ts';

export interface ManagerOptions extends OrderPorts {
  readonly store: Store;
  /** Unique per start of this process. */
  readonly bootId: string;
  /** Names of this process's own listeners. */
  readonly ownNames: readonly string[];
  /** Limit for all nodes together. */
  readonly maxOrders: number;
  readonly newId: () => string;
  readonly finished: (outcome: JobOutcome) => void;
}

/** How often the clock is looked at; changes of the configuration are noticed at once. */
const TICK_MS = 1_000;
/** Changes within this time are handled together. */
const GATHER_MS = 50;
const RECONCILE_MS = 60 * 60 * 1000;
const RECONCILE_AGAIN_MS = 60_000;

interface DueRecord extends Due {
  readonly record: StoredRecord;
}

/**
 * Keeps a valid certificate for every wanted name. Nothing here is on the way of a request or of the start: troubles
 * end as the job of a name.
 *
 * States: *idle* (a timer compares the clock with the next due time), *looking* (records are brought in line, due names
 * are leased), *closed*. Jobs run beside, each with its lease.
 */
export class CertificateManager {
  readonly #options: ManagerOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #timer: NodeJS.Timeout;
  #gathering: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #reconcileAtMs = 0;
  #lookAtMs = 0;

  constructor(options: ManagerOptions) {
    this.#options = options;
    this.#unsubscribe = options.replica.onChange((changes) => this.#changed(changes));
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
    this.#wake();
  }

  /** Orders in progress in this process. */
  get runningCount(): number {
    return this.#running.size;
  }

  /** Stops jobs and gives their names back: another node, or the next start, continues them. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#unsubscribe();
    clearInterval(this.#timer);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    await this.#looking;
    await Promise.all(this.#running.values());
  }

  #changed(changes: readonly Change[]): void {
    const kinds = new Set(changes.map((change) => (change.op === 'put' ? change.record.kind : change.key.kind)));
    if (WANTED_KINDS.some((kind) => kinds.has(kind))) this.#reconcileAtMs = 0;
    else if (!kinds.has(MANAGED_CERTIFICATE)) return;
    this.#wake();
  }

  #tick(): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs >= this.#lookAtMs || nowMs >= this.#reconcileAtMs) this.#wake();
  }

  #wake(): void {
    if (this.#closing.signal.aborted) return;
    this.#gathering ??= setTimeout(() => {
      // A look that is running may have missed the change: one more follows it.
      this.#looking = (this.#looking ?? Promise.resolve()).then(() => {
        this.#gathering = null;
        return this.#look();
      });
    }, GATHER_MS).unref();
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      if (clock.nowMs() >= this.#reconcileAtMs) await this.#reconcile();
      await this.#startDue();
    } catch (err) {
      // The store failed. The next tick tries again.
      this.#lookAtMs = 0;
      if (!this.#closing.signal.aborted) log.error({ err }, 'failed to look for certificates to order');
    }
  }

  async #reconcile(): Promise<void> {
    const { clock, replica, store, ownNames, dns, newId } = this.#options;
    const nowMs = clock.nowMs();
    // Set first: a change while this runs asks for another one.
    this.#reconcileAtMs = nowMs + RECONCILE_MS;
    try {
      const wanted: WantedNames = await wantedNames({ replica, ownNames, hasDns: dns !== null, nowMs });
      const viewOf = (id: string): WorkerView => this.#viewOf(id);
      const removed = (doc: ManagedCertificateDoc): void => this.#abandon(doc);
      const isIncomplete = await reconcile(wanted, { store, replica, nowMs, viewOf, newId, removed });
      const nextMs = Math.min(
        wanted.changesAtMs ?? Number.POSITIVE_INFINITY,
        isIncomplete ? nowMs + RECONCILE_AGAIN_MS : Number.POSITIVE_INFINITY,
      );
      this.#reconcileAtMs = Math.min(this.#reconcileAtMs, nextMs);
    } catch (error) {
      this.#reconcileAtMs = 0;
      throw error;
    }
  }

  /** Beside everything else: a provider may take minutes. */
  #abandon(doc: ManagedCertificateDoc): void {
    if (recordsOf(doc).length === 0) return;
    const key = `abandoned ${doc.hostname}`;
    const ended = abandonRecords(doc, this.#options, this.#closing.signal).finally(() => this.#running.delete(key));
    this.#running.set(key, ended);
  }

  async #startDue(): Promise<void> {
    const { clock, maxOrders } = this.#options;
    const nowMs = clock.nowMs();
    const waiting = this.#dueRecords();
    const due = waiting.filter(({ atMs }) => atMs <= nowMs);
    // Sorted: the first that is not due yet.
    this.#lookAtMs = waiting[due.length]?.atMs ?? Number.POSITIVE_INFINITY;
    const slots = this.#freeSlots();
    for (const { record, kind } of due) {
      if (this.#running.size >= maxOrders || this.#closing.signal.aborted) return;
      const { worker } = record.doc as ManagedCertificateDoc;
      const slot = worker?.slot ?? slots.shift();
      // The end of a job, here or on another node, causes another look.
      if (slot === undefined) return;
      await this.#start(record, kind, slot);
    }
  }

  /** Longest waiting first. */
  #dueRecords(): DueRecord[] {
    const records: DueRecord[] = [];
    for (const record of this.#options.replica.all(MANAGED_CERTIFICATE)) {
      const due = dueOf(record.doc as ManagedCertificateDoc, this.#viewOf(record.id));
      if (due !== null) records.push({ ...due, record });
    }
    return records.sort((a, b) => a.atMs - b.atMs);
  }

  #freeSlots(): number[] {
    const { replica, maxOrders } = this.#options;
    const used = new Set<number>();
    for (const { doc } of replica.all(MANAGED_CERTIFICATE)) {
      const { worker } = doc as ManagedCertificateDoc;
      if (worker !== null) used.add(worker.slot);
    }
    return Array.from({ length: maxOrders }, (_, slot) => slot).filter((slot) => !used.has(slot));
  }

  #viewOf(recordId: string): WorkerView {
    const { bootId, store, clock } = this.#options;
    const isAlone = store.engine === 'sqlite';
    return { bootId, isAlone, isRunning: this.#running.has(recordId), nowMs: clock.nowMs() };
  }

  async #start(record: StoredRecord, kind: Due['kind'], slot: number): Promise<void> {
    const { store, clock, bootId, replica } = this.#options;
    try {
      const job = kind === 'issue' ? startedJob(record.doc as ManagedCertificateDoc, clock.nowMs()) : null;
      const lease = await Lease.take({ store, clock, bootId }, record, slot, job === null ? {} : { job });
      const ended = this.#run(record.id, kind, lease).finally(() => {
        this.#running.delete(record.id);
        this.#wake();
      });
      this.#running.set(record.id, ended);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      this.#lookAtMs = 0;
      await replica.refresh();
    }
  }

  async #run(recordId: string, kind: Due['kind'], lease: Lease): Promise<void> {
    const { log, finished } = this.#options;
    const signal = AbortSignal.any([this.#closing.signal, lease.lost]);
    const { hostname } = lease.doc;
    try {
      if (kind === 'check') await checkRenewal(lease, this.#options, signal);
      else finished(await runCertificateJob(recordId, lease, this.#options, signal));
    } catch (err) {
      if (!signal.aborted && !(err instanceof LeaseLost))
        log.error({ err, hostname }, 'a certificate job was interrupted');
      try {
        await this.#giveBack(lease, signal.aborted);
      } catch {
        // The store failed: the lease expires.
      }
    }
  }

  /** After an unexpected error, such as a failing store, the job waits a little; after a stop it continues at once. */
  async #giveBack(lease: Lease, isStopped: boolean): Promise<void> {
    const { job } = lease.doc;
    if (lease.lost.aborted) return;
    if (isStopped || job === null) return lease.release();
    const retriesAt = rfc3339(this.#options.clock.nowMs() + RECONCILE_AGAIN_MS);
    await lease.save({ job: { ...job, retries_at: retriesAt } }, { isLast: true });
  }
}

/** Keeps the error of the last attempt until this one has ended. */
function startedJob({ job }: ManagedCertificateDoc, nowMs: number): CertificateJob {
  if (job !== null) return { ...job, retries_at: null };
  return {
    started_at: rfc3339(nowMs),
    retries_at: null,
    attempts: 0,
    error_code: null,
    msg: null,
    directory_index: 0,
    holds: {},
  };
}

interface AcmeMetricsOptions {
  readonly registry: Registry;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly runningCount: () => number;
}

/** Returns the counter of finished attempts. Registered with ACME off too: a dashboard finds the same series. */
export function addAcmeMetrics({
  registry,
  replica,
  clock,
  runningCount,
}: AcmeMetricsOptions): (outcome: JobOutcome) => void {
  const registers = [registry];
  const documents = (): ManagedCertificateDoc[] =>
    Array.from(replica.all(MANAGED_CERTIFICATE), ({ doc }) => doc as ManagedCertificateDoc);
  new Gauge({
    name: 'postern_managed_certificates',
    help: 'Names whose certificates come from ACME servers, by status.',
    labelNames: ['status'],
    registers,
    collect() {
      for (const status of ['issued', 'pending', 'failed']) this.set({ status }, 0);
      for (const doc of documents()) this.inc({ status: managedStatus(doc, clock.nowMs()) });
    },
  });
  new Gauge({
    name: 'postern_managed_certificates_next_expiry_timestamp_seconds',
    help: 'Unix time at which the first of the managed certificates expires; absent without any.',
    registers,
    collect() {
      let first = Number.POSITIVE_INFINITY;
      for (const { not_after: end } of documents()) if (end !== null) first = Math.min(first, Date.parse(end));
      if (Number.isFinite(first)) this.set(first / 1000);
      else this.remove();
    },
  });
  new Gauge({
    name: 'postern_acme_orders_in_progress',
    help: 'Certificate orders that this node works on.',
    registers,
    collect() {
      this.set(runningCount());
    },
  });
  const attempts = new Counter({
    name: 'postern_acme_attempts_total',
    help: 'Finished attempts of this node to get a certificate, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  attempts.inc({ outcome: 'issued' }, 0);
  attempts.inc({ outcome: 'failed' }, 0);
  return (outcome) => attempts.inc({ outcome });
}
