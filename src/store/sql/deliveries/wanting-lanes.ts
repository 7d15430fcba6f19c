import type { LaneKey } from '../../store.ts';
import { parseObject } from '../sealing/seal.ts';
import { type Program, statement, text } from '../statements/statement.ts';

/** What the store has to know of a subscription. */
interface SubscriptionDoc {
  readonly sources: readonly { readonly type: string }[];
  readonly destination_ids: readonly string[];
}

/** The lanes of subscriptions that want each of these types, as they stand now. */
export function* readWantingLanes(types: ReadonlySet<string>): Program<Map<string, LaneKey[]>> {
  // The database only narrows it down, and cheaply so (with LIKE it took SQLite several times as long); what a subscription wants
  // its document says.
  const rows = yield statement(
    `SELECT id, doc FROM records WHERE kind = 'event_subscription' AND (${[...types].map(() => "replace(doc, ?, '') <> doc").join(' OR ')})
    ORDER BY id`,
    [...types].map((type) => `"type":"${type}"`),
  );
  const lanes = new Map<string, LaneKey[]>([...types].map((type) => [type, []]));
  for (const row of rows) {
    const { sources, destination_ids: destinationIds } = parseObject(text(row, 'doc')) as unknown as SubscriptionDoc;
    for (const { type } of sources) {
      for (const destinationId of destinationIds) {
        lanes.get(type)?.push({ subscriptionId: text(row, 'id'), destinationId });
      }
    }
  }
  return lanes;
}
