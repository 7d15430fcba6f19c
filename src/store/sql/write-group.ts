import { PENDING_CHANGE } from '../own-records.ts';
import type { LaneKey } from '../store.ts';
import { insertNumbered, type NewDelivery } from './deliveries/delivery-enqueue.ts';
import { eventRows, insertEvents } from './deliveries/delivery-rows.ts';
import { deliveryIds, readWantingLanes } from './deliveries/lane-rows.ts';
import { HISTORY_COLUMNS, HISTORY_ITEM_COLUMNS, type HistoryRows } from './history-store.ts';
import type { AppliedChange, SealedEvent } from './seal.ts';
import { execute, insertRows, integer, type Program, type SqlValue, statement, text } from './statement.ts';

/** A lane that wants a type, and the generator of its delivery ids. */
interface WantingLane extends LaneKey {
  readonly idFor: (eventId: string) => string;
}

/** Results of a write set's events: deliveries, and the types of the written events. */
interface Recorded {
  readonly enqueued: number;
  readonly recorded: readonly string[];
}

interface Counters {
  readonly storedRevision: number;
  readonly storedSeq: number;
  revision: number;
  /** Revision of the change that waits for its confirmation. */
  pending: number | null;
}

/** One statement: every write needs all of it. */
const COUNTERS = `SELECT name, value FROM counter WHERE name IN ('revision', 'delivery_seq')
  UNION ALL SELECT 'pending', revision FROM records WHERE kind = ? AND id = ?`;

/**
 * The combined writes of all write sets of one transaction, executed at its end: changes, events, deliveries, lane
 * counters, and the counters of revisions and deliveries. Judging reads none of it, so it can wait, and a group of
 * thirty changes costs few statements more than a single one. Anything else in the transaction that reads or writes any
 * of it flushes first.
 *
 * Only under the writers' lock: so revisions have no gaps and become visible in order, the order in a lane is the order
 * of the commits, and subscriptions that were read stay unchanged.
 */
export class WriteGroup {
  #counters: Counters | null = null;
  #lanes = new Map<string, readonly WantingLane[]>();
  #changes: SqlValue[][] = [];
  #events: SqlValue[][] = [];
  #deliveries: NewDelivery[] = [];
  #history: HistoryRows[] = [];

  *revision(): Program<number> {
    return (yield* this.#read()).revision;
  }

  *takeRevision(): Program<number> {
    const counters = yield* this.#read();
    counters.revision += 1;
    return counters.revision;
  }

  *pendingRevision(): Program<number | null> {
    return (yield* this.#read()).pending;
  }

  *setPending(revision: number | null): Program<void> {
    (yield* this.#read()).pending = revision;
  }

  addChanges(changes: readonly AppliedChange[], revision: number): void {
    for (const [position, change] of changes.entries()) {
      const { kind, id } = change.op === 'touch' ? change.record : change.key;
      this.#changes.push([revision, position, kind, id, change.op === 'delete' ? 'delete' : 'put']);
    }
  }

  addHistory(rows: HistoryRows | null): void {
    if (rows !== null) this.#history.push(rows);
  }

  /**
   * Writes the events, with a delivery for each lane of a subscription that wants the type. This is decided here: an
   * added or removed type takes effect with the next event, whatever the writing process knows of it.
   */
  *enqueue(given: readonly SealedEvent[], revision: number): Program<Recorded> {
    if (given.length === 0) return { enqueued: 0, recorded: [] };
    yield* this.#readLanes(given);
    const events = given.filter(({ type, isUncertain }) => isUncertain !== true || this.#hasLane(type));
    this.#events.push(...eventRows(events, revision));
    const before = this.#deliveries.length;
    for (const { id: eventId, type, createdAtMs } of events) {
      for (const { subscriptionId, destinationId, idFor } of this.#lanes.get(type) ?? []) {
        this.#deliveries.push({ id: idFor(eventId), subscriptionId, destinationId, eventId, createdAtMs });
      }
    }
    return { enqueued: this.#deliveries.length - before, recorded: events.map(({ type }) => type) };
  }

  /** Selects the wanted ones of these events. */
  *wanted(events: readonly SealedEvent[]): Program<SealedEvent[]> {
    yield* this.#readLanes(events);
    return events.filter(({ type }) => this.#hasLane(type));
  }

  #hasLane(type: string): boolean {
    return (this.#lanes.get(type) ?? []).length > 0;
  }

  *flush(): Program<void> {
    const deliveries = this.#deliveries;
    if (deliveries.length > 0) {
      const { storedSeq } = yield* this.#read();
      yield* writeCounter('delivery_seq', storedSeq + deliveries.length);
      yield* insertEvents(this.#events);
      yield* insertNumbered(deliveries, storedSeq + 1);
    } else yield* insertEvents(this.#events);
    yield* insertRows('changes', ['revision', 'position', 'kind', 'id', 'op'], this.#changes);
    yield* insertRows(
      'history',
      HISTORY_COLUMNS,
      this.#history.map(({ entry }) => entry),
    );
    yield* insertRows(
      'history_items',
      HISTORY_ITEM_COLUMNS,
      this.#history.flatMap(({ items }) => items),
    );
    const counters = this.#counters;
    if (counters !== null && counters.revision > counters.storedRevision) {
      yield* writeCounter('revision', counters.revision);
    }
    this.#counters = null;
    this.#lanes = new Map();
    this.#changes = [];
    this.#events = [];
    this.#deliveries = [];
    this.#history = [];
  }

  *#read(): Program<Counters> {
    if (this.#counters !== null) return this.#counters;
    const rows = yield statement(COUNTERS, [PENDING_CHANGE.kind, PENDING_CHANGE.id]);
    const values = new Map(rows.map((row) => [text(row, 'name'), integer(row, 'value')]));
    const revision = values.get('revision');
    const storedSeq = values.get('delivery_seq');
    if (revision === undefined || storedSeq === undefined) throw new Error('the store has lost a counter');
    this.#counters = { storedRevision: revision, storedSeq, revision, pending: values.get('pending') ?? null };
    return this.#counters;
  }

  *#readLanes(events: readonly SealedEvent[]): Program<void> {
    const unknown = new Set(events.map(({ type }) => type).filter((type) => !this.#lanes.has(type)));
    if (unknown.size === 0) return;
    for (const [type, lanes] of yield* readWantingLanes(unknown)) {
      this.#lanes.set(
        type,
        lanes.map((lane) => ({ ...lane, idFor: deliveryIds(lane) })),
      );
    }
  }
}

function* writeCounter(name: string, value: number): Program<void> {
  yield* execute('UPDATE counter SET value = ? WHERE name = ?', [value, name]);
}

/** Events without a change. Only wanted ones are kept: nothing would ever delete the rest. */
export function* recordEvents(events: readonly SealedEvent[]): Program<number> {
  const group = new WriteGroup();
  const wanted = yield* group.wanted(events);
  yield* group.enqueue(wanted, 0);
  yield* group.flush();
  return wanted.length;
}
