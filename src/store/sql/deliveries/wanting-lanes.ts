import type { LaneKey } from '../../store.ts';
import { parseObject } from '../sealing/seal.ts';
import { type Program, statement, text } from '../statements/statement.ts';

/** The fields of a subscription that the store reads. */
interface SubscriptionDoc {
  readonly sources: readonly { readonly type: string }[];
  readonly destination_ids: readonly string[];
}

/** The lanes of subscriptions that currently want each of these types. */
export function* readWantingLanes(types: ReadonlySet<string>): Program<Map<string, LaneKey[]>> {
  // The query only narrows the candidates, cheaply (with LIKE it took SQLite several times as long); the subscription's
  // document decides.
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
