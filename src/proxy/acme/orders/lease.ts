import { type Clock, rfc3339 } from '../../../kit/clock.ts';
import type { OutboxEvent, RecordKey, RecordPut, Secrets, Store, StoredRecord } from '../../../store/store.ts';
import { MANAGED_CERTIFICATE, type ManagedCertificateDoc } from '../records.ts';

/** Another node may take over a name this long after its worker was last heard of. */
const LEASE_MS = 120_000;
const RENEW_MS = 40_000;
const SLOT_SCOPE = 'acme_order_slot';

/** Another node works on the name, or the record is gone. Nothing was written. */
export class LeaseLost extends Error {
  constructor(hostname: string) {
    super(`another node has taken over ${hostname}`);
    this.name = 'LeaseLost';
  }
}

export interface LeaseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly bootId: string;
}

export interface SaveOptions {
  readonly secrets?: Secrets | null;
  readonly puts?: readonly RecordPut[];
  readonly deletes?: readonly RecordKey[];
  /** Called with the document that is about to be stored. */
  readonly events?: (doc: ManagedCertificateDoc) => readonly OutboxEvent[];
  /** Ends the lease with this write. */
  readonly isLast?: boolean;
}

/**
 * The right to work on a name. Every write expects the revision of the last one, so a worker that lost the lease, for
 * instance because its machine was suspended, cannot write any longer.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #slot: number;
  readonly #lost = new AbortController();
  #record: StoredRecord;
  #saving: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  private constructor(options: LeaseOptions, record: StoredRecord, slot: number) {
    this.#options = options;
    this.#record = record;
    this.#slot = slot;
  }

  /** Throws LeaseLost if another node was faster, or all slots are taken. */
  static async take(
    options: LeaseOptions,
    record: StoredRecord,
    slot: number,
    changes: Partial<ManagedCertificateDoc>,
  ): Promise<Lease> {
    const lease = new Lease(options, record, slot);
    await lease.save(changes);
    lease.#timer = setInterval(() => {
      lease.save({}).catch(() => {});
    }, RENEW_MS).unref();
    return lease;
  }

  get doc(): ManagedCertificateDoc {
    return this.#record.doc as ManagedCertificateDoc;
  }

  /** Aborted when another node has the name. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  secret(field: string): string | null {
    const text = this.#record.secrets?.[field];
    return text === undefined ? null : (JSON.parse(text) as string);
  }

  /** One write at a time: each expects the revision of the one before. */
  save(changes: Partial<ManagedCertificateDoc>, options: SaveOptions = {}): Promise<void> {
    const saved = this.#saving.then(() => this.#save(changes, options));
    this.#saving = saved.catch(() => {});
    return saved;
  }

  /** Gives the name back, unless that has happened. */
  async release(): Promise<void> {
    if (!this.#isOver) await this.save({}, { isLast: true });
  }

  async #save(changes: Partial<ManagedCertificateDoc>, options: SaveOptions): Promise<void> {
    const { store, clock, bootId } = this.#options;
    const { kind, id, revision } = this.#record;
    // A renewal that waited while the lease ended.
    if (this.#isOver) throw new LeaseLost(this.doc.hostname);
    const until = rfc3339(clock.nowMs() + LEASE_MS);
    const worker = options.isLast === true ? null : { boot_id: bootId, until, slot: this.#slot };
    const doc = { ...this.doc, ...changes, worker };
    const secrets = options.secrets === undefined ? this.#record.secrets : options.secrets;
    const result = await store.commit({
      expect: [{ kind, id, revision }],
      puts: [managedPut(id, doc, secrets), ...(options.puts ?? [])],
      deletes: options.deletes ?? [],
      events: options.events?.(doc) ?? [],
    });
    if (!result.ok) {
      this.#end();
      this.#lost.abort();
      throw new LeaseLost(doc.hostname);
    }
    this.#record = { ...this.#record, doc, secrets, revision: result.revision };
    if (worker === null) this.#end();
  }

  #end(): void {
    this.#isOver = true;
    if (this.#timer !== null) clearInterval(this.#timer);
  }
}

/** A record's write. The unique key of the slot bounds the orders of all nodes together. */
export function managedPut(id: string, doc: ManagedCertificateDoc, secrets: Secrets | null): RecordPut {
  const slot = doc.worker === null ? [] : [{ scope: SLOT_SCOPE, key: String(doc.worker.slot) }];
  return {
    kind: MANAGED_CERTIFICATE,
    id,
    parent: null,
    doc,
    secrets,
    uniqueKeys: [{ scope: MANAGED_CERTIFICATE, key: doc.hostname }, ...slot],
    references: [],
  };
}
