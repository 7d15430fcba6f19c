import type { Delivery, DeliveryAttempt, DeliveryStore, OutboxEvent } from '../store.ts';
import type { DeliveryRow } from './delivery-rows.ts';
import { parseObject } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';

export function createDeliveryStore(engine: SqlEngine): DeliveryStore {
  return {
    put: (deliveries) => engine.write('putDeliveries', deliveries.map(rowOf)),
    get: async (id) => {
      const row = await engine.read('getDelivery', id);
      return row === null ? null : deliveryOf(row);
    },
    list: async (filter, query) => (await engine.read('listDeliveries', filter, query)).map(deliveryOf),
    replay: async (id, newId, nowMs) => {
      const [row] = await engine.write('replayDeliveries', [{ id, newId }], nowMs);
      return row === undefined ? null : deliveryOf(row);
    },
    replayMatching: async (filter, newId, nowMs) => {
      // All ids first: a replay matches most filters itself, and must not be replayed in turn.
      const ids = await engine.read('listDeliveryIds', filter);
      if (ids.length === 0) return 0;
      const replays = ids.map((id) => ({ id, newId: newId() }));
      const rows = await engine.write('replayDeliveries', replays, nowMs);
      return rows.length;
    },
  };
}

function rowOf(delivery: Delivery): DeliveryRow {
  return { ...delivery, event: JSON.stringify(delivery.event), attempts: JSON.stringify(delivery.attempts) };
}

function deliveryOf(row: DeliveryRow): Delivery {
  return {
    ...row,
    event: parseObject(row.event) as unknown as OutboxEvent,
    attempts: JSON.parse(row.attempts) as DeliveryAttempt[],
  };
}
