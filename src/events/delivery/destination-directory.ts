import type { JsonObject } from '../../lib/json.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import type { LaneKey, StoredRecord } from '../../store/store.ts';
import { destinationKinds } from '../destinations/registry.ts';
import type { LaneTarget } from './delivery-ports.ts';

/** The targets of lanes, from the replica. */
export class DestinationDirectory {
  readonly #records: RecordReader;
  readonly #configOf: (record: StoredRecord) => JsonObject;
  /** Per version of a record: sealed values are opened once. */
  readonly #targets = new WeakMap<StoredRecord, LaneTarget>();

  /** `configOf` inserts a destination's secrets. */
  constructor(records: RecordReader, configOf: (record: StoredRecord) => JsonObject) {
    this.#records = records;
    this.#configOf = configOf;
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
    const { target: given, format = 'json' } = this.#configOf(destination);
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
