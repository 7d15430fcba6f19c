import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRefused, committed, everything, type OpenStore, put, refersTo } from './store-under-test.ts';

const EVENT = { id: 'ev_1', type: 'edge_created.v0', createdAtMs: 1, payload: {} };

/** Every refusal reason, each time with an event in the write set: a refusal must not leave the event behind either. */
export function refusals(openStore: OpenStore): void {
  suite('refusals', { concurrency: 3 }, () => {
    test('conflict: an expected revision differs from the record’s', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1')] });
      const key = { kind: 'edge', id: 'e1' };
      const writeSet = { puts: [put('edge', 'e1', { doc: { b: 1 } })], events: [EVENT] };
      await assertRefused(
        store,
        { ...writeSet, expect: [{ ...key, revision: 7 }] },
        { reason: 'conflict', key, actual: 1 },
      );
      await assertRefused(
        store,
        { ...writeSet, expect: [{ ...key, revision: 'absent' }] },
        { reason: 'conflict', key, actual: 1 },
      );
      const absent = { kind: 'edge', id: 'e2' };
      await assertRefused(
        store,
        { ...writeSet, expect: [{ ...absent, revision: 1 }] },
        { reason: 'conflict', key: absent, actual: null },
      );
    });

    test('conflict: a record to delete or to touch is absent', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1'), put('route', 'r1', { parent: 'e1' })] });
      const key = { kind: 'edge', id: 'e2' };
      await assertRefused(store, { deletes: [key], events: [EVENT] }, { reason: 'conflict', key, actual: null });
      await assertRefused(store, { touches: [key], events: [EVENT] }, { reason: 'conflict', key, actual: null });
      const route = { kind: 'route', id: 'r1' };
      await assertRefused(
        store,
        { deletes: [{ kind: 'edge', id: 'e1' }], touches: [route] },
        { reason: 'conflict', key: route, actual: null },
      );
    });

    test('parent_missing: absent, or deleted in the same write set', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1')] });
      const child = (parent: string) => ({ puts: [put('route', 'r1', { parent })], events: [EVENT] });
      await assertRefused(store, child('e2'), { reason: 'parent_missing', parent: 'e2' });
      await assertRefused(
        store,
        { ...child('e1'), deletes: [{ kind: 'edge', id: 'e1' }] },
        { reason: 'parent_missing', parent: 'e1' },
      );
    });

    test('unique_key_taken: by another record, stored or in the same write set', async (t) => {
      const { store } = await openStore(t);
      const uniqueKey = { scope: 'hostport', key: 'app.example:443' };
      const taking = (id: string) => put('edge', id, { uniqueKeys: [{ scope: 'hostport', key: 'free' }, uniqueKey] });
      await committed(store, { puts: [put('edge', 'e1', { uniqueKeys: [uniqueKey] })] });
      const by = { kind: 'edge', id: 'e1' };
      await assertRefused(
        store,
        { puts: [taking('e2')], events: [EVENT] },
        { reason: 'unique_key_taken', uniqueKey, by },
      );
      await assertRefused(
        store,
        {
          puts: [
            put('edge', 'e3', { uniqueKeys: [{ scope: 'x', key: 'y' }] }),
            put('edge', 'e4', { uniqueKeys: [{ scope: 'x', key: 'y' }] }),
          ],
        },
        { reason: 'unique_key_taken', uniqueKey: { scope: 'x', key: 'y' }, by: { kind: 'edge', id: 'e3' } },
      );
    });

    test('reference_missing: absent, or deleted in the same write set', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('backend', 'b1')] });
      const reference = refersTo({ kind: 'backend', id: 'b1' }, 'backend_id');
      const puts = [put('route', 'r1', { references: [reference] })];
      await assertRefused(
        store,
        { puts, deletes: [reference.to], events: [EVENT] },
        { reason: 'reference_missing', reference },
      );
      const absent = refersTo({ kind: 'route', id: 'b1' });
      await assertRefused(
        store,
        { puts: [put('route', 'r1', { references: [reference, absent] })] },
        { reason: 'reference_missing', reference: absent },
      );
    });

    test('still_referenced: names at most ten of the referring records', async (t) => {
      const { store } = await openStore(t);
      const key = { kind: 'backend', id: 'b1' };
      await committed(store, { puts: [put('pool', 'p1'), put('backend', 'b1', { parent: 'p1' })] });
      const routes = Array.from({ length: 12 }, (_, at) => `r${String(at).padStart(2, '0')}`);
      await committed(store, {
        puts: routes.map((id) => put('route', id, { references: [refersTo(key, 'backend_id')] })),
      });
      const by = routes.slice(0, 10).map((id) => ({ kind: 'route', id, field: 'backend_id' }));
      await assertRefused(store, { deletes: [key], events: [EVENT] }, { reason: 'still_referenced', key, by });
      // Also when it would be deleted with its parent.
      await assertRefused(store, { deletes: [{ kind: 'pool', id: 'p1' }] }, { reason: 'still_referenced', key, by });
    });

    test('still_referenced: finds the remaining one behind hundreds that are deleted too', async (t) => {
      const { store } = await openStore(t);
      const key = { kind: 'edge', id: 'e1' };
      const references = [refersTo(key, 'edge_id')];
      const inside = Array.from({ length: 450 }, (_, at) => put('route', `a${at}`, { parent: 'e1', references }));
      await committed(store, { puts: [put('edge', 'e1'), ...inside, put('route', 'z', { references })] });
      const by = [{ kind: 'route', id: 'z', field: 'edge_id' }];
      await assertRefused(store, { deletes: [key] }, { reason: 'still_referenced', key, by });
      await committed(store, { deletes: [{ kind: 'route', id: 'z' }] });
      await committed(store, { deletes: [key] });
      assert.deepEqual((await everything(store)).records, []);
    });

    test('conflict: what refers to a record has changed since it was allowed to lead elsewhere', async (t) => {
      const { store } = await openStore(t);
      const key = { kind: 'destination', id: 'd1' };
      const { revision } = await committed(store, { puts: [put('destination', 'd1')] });
      await committed(store, { puts: [put('destination', 'd1', { armedAsOf: revision })] });
      const references = [refersTo(key)];
      const { revision: now } = await committed(store, { puts: [put('subscription', 's1', { references })] });
      await assertRefused(
        store,
        { puts: [put('destination', 'd1', { armedAsOf: now - 1 })], events: [EVENT] },
        { reason: 'conflict', key: { kind: 'subscription', id: 's1' }, actual: now },
      );
      await committed(store, { puts: [put('destination', 'd1', { armedAsOf: now })] });
    });

    test('cycle: over stored references and those of the same write set', async (t) => {
      const { store } = await openStore(t);
      const to = (id: string) => [refersTo({ kind: 'backend', id })];
      await committed(store, { puts: [put('backend', 'b1')] });
      await committed(store, { puts: [put('backend', 'b2', { references: to('b1'), isAcyclic: true })] });
      await committed(store, { puts: [put('backend', 'b3', { references: to('b2'), isAcyclic: true })] });
      await assertRefused(
        store,
        { puts: [put('backend', 'b1', { references: to('b3'), isAcyclic: true })], events: [EVENT] },
        { reason: 'cycle', key: { kind: 'backend', id: 'b1' } },
      );
      await assertRefused(
        store,
        { puts: [put('backend', 'b9', { references: to('b9'), isAcyclic: true })] },
        { reason: 'cycle', key: { kind: 'backend', id: 'b9' } },
      );
      // The stored reference from b2 would close the cycle, but the same write set removes it.
      await committed(store, {
        puts: [put('backend', 'b2'), put('backend', 'b1', { references: to('b3'), isAcyclic: true })],
      });
    });

    test('last_one: a scope must not be emptied, by deleting, cascading or releasing', async (t) => {
      const { store } = await openStore(t);
      const admin = (id: string, parent: string | null = null) =>
        put('api_key', id, { parent, uniqueKeys: [{ scope: 'all_scopes', key: id }] });
      const keepAtLeastOne = ['all_scopes'];
      const refusal = { reason: 'last_one', scope: 'all_scopes' };
      await committed(store, { puts: [put('owner', 'o1'), admin('k1', 'o1'), admin('k2')], keepAtLeastOne });
      await committed(store, { deletes: [{ kind: 'api_key', id: 'k2' }], keepAtLeastOne });
      await assertRefused(
        store,
        { deletes: [{ kind: 'api_key', id: 'k1' }], keepAtLeastOne, events: [EVENT] },
        refusal,
      );
      await assertRefused(store, { deletes: [{ kind: 'owner', id: 'o1' }], keepAtLeastOne }, refusal);
      await assertRefused(store, { puts: [put('api_key', 'k1')], keepAtLeastOne }, refusal);
      await committed(store, { deletes: [{ kind: 'api_key', id: 'k1' }], puts: [admin('k3')], keepAtLeastOne });
      // A scope that was empty before may stay empty.
      await committed(store, { puts: [put('edge', 'e1')], keepAtLeastOne: ['other'] });
    });

    test('idempotency_used: returns what the first request created, before any expectation', async (t) => {
      const { store } = await openStore(t);
      const idempotency = { scope: 'scope-hash', bodyHash: 'h1', kind: 'edge', id: 'e1', createdAtMs: 1_000 };
      await committed(store, { puts: [put('edge', 'e1')], idempotency });
      await assertRefused(
        store,
        {
          expect: [{ kind: 'edge', id: 'e1', revision: 'absent' }],
          puts: [put('edge', 'e2')],
          idempotency: { ...idempotency, bodyHash: 'h2', id: 'e2', createdAtMs: 2_000 },
          events: [EVENT],
        },
        { reason: 'idempotency_used', existing: idempotency },
      );
      assert.deepEqual(await store.commit({ puts: [put('edge', 'e2')] }).then(({ ok }) => ok), true);
    });
  });
}
