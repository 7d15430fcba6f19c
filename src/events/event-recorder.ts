import type { Clock } from '../lib/clock.ts';
import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { EventStore, OutboxEvent } from '../store/store.ts';
import type { WantedTypes } from './wanted-types.ts';

export interface EventRecorderOptions {
  readonly events: Pick<EventStore, 'record'>;
  readonly wanted: WantedTypes;
  readonly accountId: string;
  readonly clock: Clock;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
  newId(prefix: string): string;
  readonly maxQueued: number;
}

interface Waiting {
  readonly type: string;
  readonly object: JsonObject;
  readonly atMs: number;
}

const FLUSH_MS = 100;
const BATCH = 500;
const RETRY_MS = 1_000;
/** Dropped events are logged once per interval with their count, not individually. */
const DROP_NOTICE_MS = 60_000;

/**
 * Records events that no configuration change causes: agents, tunnels, traffic. The reporter does not wait: events are
 * queued in memory and written together. The queue is bounded, because traffic may outrun any disk. Events that do not
 * fit are dropped, counted and logged. Events still in the queue when the process is killed are lost: they are not tied
 * to any transaction.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #recorded = new Map<string, number>();
  readonly #dropped = new Map<string, number>();
  #queue: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #droppedSinceNotice = 0;
  #noticedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** By type. */
  get recorded(): ReadonlyMap<string, number> {
    return this.#recorded;
  }

  get dropped(): ReadonlyMap<string, number> {
    return this.#dropped;
  }

  get queued(): number {
    return this.#queue.length;
  }

  isWanted(type: string): boolean {
    return this.#options.wanted.has(type);
  }

  /** `object` is the event's object as the API shows it, with secrets masked. */
  record(type: string, object: JsonObject): void {
    if (!this.isWanted(type)) return;
    if (this.#queue.length >= this.#options.maxQueued || this.#isClosed) {
      this.#drop(type);
      return;
    }
    this.#queue.push({ type, object, atMs: this.#options.clock.nowMs() });
    this.#flushIn(FLUSH_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#flushing;
    await this.#flush();
    for (const { type } of this.#queue) this.#drop(type);
    this.#queue = [];
  }

  #flushIn(ms: number): void {
    if (this.#flushing !== null) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = null;
        if (this.#queue.length > 0 && !this.#isClosed) this.#flushIn(RETRY_MS);
      });
    }, ms).unref();
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, BATCH);
      try {
        await this.#options.events.record(batch.map((waiting) => this.#eventOf(waiting)));
      } catch (err) {
        // They stay in the queue: the store may recover before it is full.
        this.#options.log.error({ err, waiting: this.#queue.length }, 'failed to record events');
        return;
      }
      this.#queue.splice(0, batch.length);
      for (const { type } of batch) this.#recorded.set(type, (this.#recorded.get(type) ?? 0) + 1);
    }
  }

  #eventOf({ type, object, atMs }: Waiting): OutboxEvent {
    const id = this.#options.newId('ev');
    const payload = {
      event_id: id,
      event_type: type,
      event_timestamp: rfc3339(atMs),
      account_id: this.#options.accountId,
      principal: null,
      object,
    };
    return { id, type, createdAtMs: atMs, payload };
  }

  #drop(type: string): void {
    this.#dropped.set(type, (this.#dropped.get(type) ?? 0) + 1);
    this.#droppedSinceNotice += 1;
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - this.#noticedAtMs < DROP_NOTICE_MS) return;
    this.#options.log.warn(
      { dropped: this.#droppedSinceNotice, queue: this.#options.maxQueued },
      'dropped events: they arrive faster than the store can write them',
    );
    this.#noticedAtMs = nowMs;
    this.#droppedSinceNotice = 0;
  }
}
