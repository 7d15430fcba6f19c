import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { committed, type OpenStore, put } from './store-under-test.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export function eventsAndIdempotency(openStore: OpenStore): void {
  suite('events and idempotency', { concurrency: 3 }, () => {
    test('events are listed newest first, and page without repeating', async (t) => {
      const { store } = await openStore(t);
      const event = (id: string) => ({ id, type: 'edge_created.v0', createdAtMs: 7, payload: { id } });
      await committed(store, { puts: [put('edge', 'e1')], events: [event('ev_1'), event('ev_3')] });
      await committed(store, { events: [event('ev_2'), event('ev_5')] });
      const first = await store.events.list({ beforeId: null, limit: 2 });
      assert.deepEqual(first, [event('ev_5'), event('ev_3')]);
      await committed(store, { events: [event('ev_4'), event('ev_6')] });
      const second = await store.events.list({ beforeId: 'ev_3', limit: 2 });
      assert.deepEqual(second, [event('ev_2'), event('ev_1')]);
      assert.deepEqual(await store.events.get('ev_2'), event('ev_2'));
      assert.equal(await store.events.get('ev_9'), null);
      assert.equal(await store.events.count(), 6);
    });

    test('an idempotency key is free again after 24 hours', async (t) => {
      let nowMs = 10 * DAY_MS;
      const { store } = await openStore(t, { clock: { nowMs: () => nowMs } });
      const record = (id: string) => ({ scope: 'h', bodyHash: 'b', kind: 'edge', id, createdAtMs: nowMs });
      const first = record('e1');
      await committed(store, { puts: [put('edge', 'e1')], idempotency: first });
      assert.deepEqual(await store.findIdempotency('h'), first);
      nowMs += DAY_MS - 1;
      assert.deepEqual(await store.findIdempotency('h'), first);
      assert.equal((await store.commit({ puts: [put('edge', 'e2')], idempotency: record('e2') })).ok, false);
      nowMs += 1;
      assert.equal(await store.findIdempotency('h'), null);
      await committed(store, { puts: [put('edge', 'e2')], idempotency: record('e2') });
      assert.deepEqual(await store.findIdempotency('h'), record('e2'));
      assert.equal(await store.findIdempotency('other'), null);
    });

    test('prune deletes aged idempotency records and leases, and nothing else', async (t) => {
      const { store } = await openStore(t, { clock: { nowMs: () => 0 } });
      const idempotency = (scope: string, createdAtMs: number) => ({
        scope,
        bodyHash: 'b',
        kind: 'edge',
        id: 'e',
        createdAtMs,
      });
      await committed(store, {
        idempotency: idempotency('old', 1_000),
        events: [{ id: 'ev', type: 'x', createdAtMs: 0, payload: {} }],
      });
      await committed(store, { puts: [put('edge', 'e')], idempotency: idempotency('new', 1_001) });
      await store.prune(1_000 + DAY_MS);
      assert.equal(await store.findIdempotency('old'), null);
      assert.equal((await store.findIdempotency('new'))?.scope, 'new');
      assert.equal(await store.events.count(), 1);
      assert.equal((await store.changesSince(0)).isComplete, true);
    });
  });
}
