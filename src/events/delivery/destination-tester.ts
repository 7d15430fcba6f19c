import { type Clock, rfc3339 } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { StoredRecord } from '../../store/store.ts';
import type { DestinationSender } from '../destinations/destination-kind.ts';
import type { DestinationDirectory } from './destination-directory.ts';

export interface DestinationTesterOptions {
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
