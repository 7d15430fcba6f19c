import { type Clock, rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { LaneKey, StoredRecord } from '../../../store/store.ts';
import type { DestinationSender } from '../destinations/destination-kind.ts';
import { destinationKinds } from '../destinations/registry.ts';
import type { LaneTarget } from './retry-rules.ts';

/** The targets of lanes, from the replica. */
export class DestinationDirectory {
  readonly #records: RecordReader;
  readonly #fieldsOf: (record: StoredRecord) => JsonObject;
  /** Per version of a record: sealed values are opened once. */
  readonly #targets = new WeakMap<StoredRecord, LaneTarget>();

  /** `fieldsOf` inserts a destination's secrets. */
  constructor(records: RecordReader, fieldsOf: (record: StoredRecord) => JsonObject) {
    this.#records = records;
    this.#fieldsOf = fieldsOf;
  }

  targetOf({ subscriptionId, destinationId }: LaneKey): LaneTarget {
    const subscription = this.#records.get('event_subscription', subscriptionId);
    const destination = this.#records.get('event_destination', destinationId);
    if (subscription === undefined || destination === undefined) return { state: 'closed' };
    const ids = subscription.doc['destination_ids'] as readonly string[];
    if (!ids.includes(destinationId)) return { state: 'closed' };
    return destination.doc['status'] === 'active' ? this.open(destination) : { state: 'held' };
  }

  /** Ignores its status. */
  open(destination: StoredRecord): LaneTarget {
    const known = this.#targets.get(destination);
    if (known !== undefined) return known;
    const { target: given, format = 'json' } = this.#fieldsOf(destination);
    const target = given as Readonly<Record<string, JsonObject | null>>;
    const kind = destinationKinds.find(({ name }) => (target[name] ?? null) !== null)?.name;
    const config = kind === undefined ? null : (target[kind] ?? null);
    const opened: LaneTarget =
      kind === undefined || config === null
        ? { state: 'held' }
        : { state: 'open', kind, config: { ...config, format } };
    this.#targets.set(destination, opened);
    return opened;
  }
}

interface DestinationTesterOptions {
  readonly directory: DestinationDirectory;
  readonly senders: ReadonlyMap<string, DestinationSender>;
  readonly clock: Clock;
  readonly accountId: string;
  readonly newId: (prefix: string) => string;
}

/** No subscription can select it. */
const TEST_TYPE = 'event_destination_test.v0';

/**
 * Sends a sample event past the lanes, even to a paused destination. Only the status is returned: with the body, anyone
 * who may test destinations could read services inside an allowed range.
 */
export function createDestinationTester({ directory, senders, clock, accountId, newId }: DestinationTesterOptions) {
  return {
    test: async (destination: StoredRecord): Promise<JsonObject> => {
      const target = directory.open(destination);
      const sender = target.state === 'open' ? senders.get(target.kind) : undefined;
      if (target.state !== 'open' || sender === undefined) throw new Error(`${destination.id} has no target`);
      const id = newId('ev');
      const payload = {
        event_id: id,
        event_type: TEST_TYPE,
        event_timestamp: rfc3339(clock.nowMs()),
        account_id: accountId,
        principal: null,
        object: { id: destination.id },
      };
      const message = { id, type: TEST_TYPE, body: JSON.stringify(payload) };
      const startedAt = performance.now();
      const { verdict, status, error } = await sender.send(target.config, message, new AbortController().signal);
      return {
        is_delivered: verdict === 'delivered',
        status,
        error,
        duration_ms: Math.round(performance.now() - startedAt),
        event: payload,
      };
    },
  };
}
