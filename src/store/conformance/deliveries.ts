import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Delivery, DeliveryFilter } from '../store.ts';
import type { OpenStore } from './store-under-test.ts';

function delivery(id: string, rest: Partial<Delivery> = {}): Delivery {
  return {
    id,
    subscriptionId: 'es_1',
    destinationId: 'ed_1',
    event: { id: `ev_${id}`, type: 'x', createdAtMs: 1, payload: { of: id } },
    state: 'pending',
    attempts: [{ at: '2026-01-01T00:00:00Z', status: 503, error: null, duration_ms: 12 }],
    createdAtMs: 100,
    nextAttemptAtMs: 200,
    ...rest,
  };
}

export function deliveries(openStore: OpenStore): void {
  describe('deliveries', { concurrency: true }, () => {
    test('are put, replaced and read back', async (t) => {
      const { store } = await openStore(t);
      await store.deliveries.put([delivery('d1')]);
      const done = delivery('d1', { state: 'delivered', attempts: [], nextAttemptAtMs: null });
      await store.deliveries.put([done]);
      assert.deepEqual(await store.deliveries.get('d1'), done);
      assert.equal(await store.deliveries.get('d2'), null);
    });

    test('filters hold alone and together; since is inclusive, until is not', async (t) => {
      const { store } = await openStore(t);
      await store.deliveries.put([
        delivery('d1', { createdAtMs: 1 }),
        delivery('d2', { createdAtMs: 2, state: 'dead' }),
        delivery('d3', { createdAtMs: 3, subscriptionId: 'es_2', state: 'dead' }),
        delivery('d4', { createdAtMs: 4, destinationId: 'ed_2' }),
      ]);
      const ids = async (filter: DeliveryFilter, beforeId: string | null = null) =>
        (await store.deliveries.list(filter, { beforeId, limit: 9 })).map(({ id }) => id).join(' ');
      assert.equal(await ids({}), 'd4 d3 d2 d1');
      assert.equal(await ids({}, 'd3'), 'd2 d1');
      assert.equal(await ids({ subscriptionId: 'es_1' }), 'd4 d2 d1');
      assert.equal(await ids({ destinationId: 'ed_2' }), 'd4');
      assert.equal(await ids({ state: 'dead' }), 'd3 d2');
      assert.equal(await ids({ state: 'dead', subscriptionId: 'es_1' }), 'd2');
      assert.equal(await ids({ sinceMs: 2, untilMs: 4 }), 'd3 d2');
    });

    test('a replay is a new delivery of the same event, pending and due at once', async (t) => {
      const { store } = await openStore(t);
      const dead = delivery('d1', { state: 'dead', nextAttemptAtMs: null });
      await store.deliveries.put([dead]);
      const replayed = delivery('d2', { event: dead.event, attempts: [], createdAtMs: 900, nextAttemptAtMs: 900 });
      assert.deepEqual(await store.deliveries.replay('d1', 'd2', 900), replayed);
      assert.deepEqual(await store.deliveries.get('d2'), replayed);
      assert.deepEqual(await store.deliveries.get('d1'), dead);
      assert.equal(await store.deliveries.replay('none', 'd3', 900), null);
    });

    test('replaying all that match keeps their order and replays no replay', async (t) => {
      const { store } = await openStore(t);
      const ids = Array.from({ length: 450 }, (_, at) => `a${String(at).padStart(3, '0')}`);
      await store.deliveries.put(ids.map((id) => delivery(id)));
      let count = 0;
      const newId = () => {
        count += 1;
        return `b${String(count).padStart(3, '0')}`;
      };
      assert.equal(await store.deliveries.replayMatching({ subscriptionId: 'es_1' }, newId, 900), 450);
      assert.equal(count, 450);
      const newest = await store.deliveries.list({ sinceMs: 900 }, { beforeId: null, limit: 1 });
      assert.equal(newest[0]?.event.id, 'ev_a449');
      assert.equal(await store.deliveries.replayMatching({ state: 'dead' }, newId, 900), 0);
    });
  });
}
