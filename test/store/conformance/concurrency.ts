import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { destinationPut, event, ledger, oneLane } from './lane-world.ts';
import { committed, everything, type OpenStore, put } from './store-under-test.ts';

const WRITERS = 64;
const WRITES_EACH = 5;

export function concurrency(openStore: OpenStore): void {
  suite('concurrency', { concurrency: 3 }, () => {
    test('64 writers take revisions without gaps, and share commits', async (t) => {
      const { store } = await openStore(t);
      const revisions: number[] = [];
      await Promise.all(
        Array.from({ length: WRITERS }, async (_, writer) => {
          for (let write = 0; write < WRITES_EACH; write += 1) {
            const { revision } = await committed(store, { puts: [put('edge', `e${writer}-${write}`)] });
            revisions.push(revision);
          }
        }),
      );
      const total = WRITERS * WRITES_EACH;
      assert.deepEqual(
        revisions.toSorted((one, other) => one - other),
        Array.from({ length: total }, (_, at) => at + 1),
      );
      assert.equal(await store.currentRevision(), total);
      const { writeSets, commits } = store.stats();
      assert.equal(writeSets, total);
      assert.ok(writeSets / commits >= 8, `${writeSets} write-sets in ${commits} commits`);
      t.diagnostic(`${writeSets} write-sets in ${commits} commits`);
    });

    test('listeners hear of writes that shared a commit at once, before any of the writers continues', async (t) => {
      const { store } = await openStore(t);
      const heard: number[][] = [];
      store.onCommitted((changes) => {
        // An empty list asks to read again: PostgreSQL's notification may overtake the answer to the commit.
        if (changes.length === 0) return;
        heard.push(changes.flatMap((change) => (change.op === 'put' ? [change.record.revision] : [])));
      });
      const known = await Promise.all(
        Array.from({ length: 20 }, async (_, writer) => {
          // Two of them write the same record.
          await committed(store, { puts: [put('edge', `e${writer % 19}`)] });
          return heard.length;
        }),
      );
      const revisions = Array.from({ length: 20 }, (_, at) => at + 1);
      assert.deepEqual([heard, new Set(known)], [[revisions], new Set([1])]);
    });

    test('one of several writers that expect the same revision wins', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1')] });
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, writer) =>
          store.commit({
            expect: [{ kind: 'edge', id: 'e1', revision: 1 }],
            puts: [put('edge', 'e1', { doc: { writer } })],
          }),
        ),
      );
      assert.deepEqual(results.map(({ ok }) => ok).filter(Boolean), [true]);
      const lost = results.filter((result) => !result.ok);
      for (const result of lost)
        assert.deepEqual(result, { ok: false, reason: 'conflict', key: { kind: 'edge', id: 'e1' }, actual: 2 });
    });

    test('a rejected or failing write does not affect those that share its commit', async (t) => {
      const { store } = await openStore(t);
      const known = { id: 'ev_1', type: 'x', createdAtMs: 1, payload: {} };
      await committed(store, { events: [known] });
      const outcomes = await Promise.allSettled([
        store.commit({ puts: [put('edge', 'e1')] }),
        store.commit({ deletes: [{ kind: 'edge', id: 'none' }] }),
        // A duplicate event id is a bug of the caller, detected by the primary key in the middle of the transaction.
        store.commit({ puts: [put('edge', 'e2')], events: [known] }),
        store.commit({ puts: [put('edge', 'e3')] }),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
      );
      const { records, revision, events } = await everything(store);
      assert.deepEqual(
        records.map(({ id }) => id),
        ['e1', 'e3'],
      );
      assert.deepEqual([revision, events], [3, 1]);
    });

    test('a write that fails in the combined writes of its commit fails alone', async (t) => {
      const { store } = await openStore(t);
      await oneLane(store);
      const known = event();
      await committed(store, { events: [known] });
      const heard: string[] = [];
      store.onCommitted((changes) => {
        for (const change of changes)
          if (change.op === 'put') heard.push(`${change.record.id} ${change.record.revision}`);
      });
      const outcomes = await Promise.allSettled([
        store.commit({ puts: [put('edge', 'e1')], events: [event()] }),
        store.commit({ puts: [put('edge', 'e2')], events: [known] }),
        // Flushes the statements before it, then reads: PostgreSQL reports the failure together with what follows it.
        store.events.record([event()]),
        store.commit({ puts: [destinationPut('ed_2')], events: [event()] }),
        store.commit({ puts: [put('edge', 'e1')], expect: [{ kind: 'edge', id: 'e1', revision: 'absent' }] }),
        store.commit({ puts: [put('edge', 'e3')], events: [event()] }),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status === 'fulfilled'),
        [true, false, true, true, true, true],
      );
      assert.deepEqual(heard, ['e1 3', 'ed_2 4', 'e3 5']);
      assert.deepEqual(await ledger(store), {
        'esb_1 ed_1': '5 = 5 pending + 0 delivered + 0 dead + 0 cancelled + 0 pruned',
      });
      assert.equal(await store.currentRevision(), 5);
      assert.equal((await store.deliveries.list({}, { beforeId: null, limit: 9 })).length, 5);
    });

    test('reads continue while a commit waits for the disk, and see what was committed before', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e0')] });
      const writes = Promise.all(
        Array.from({ length: 200 }, (_, at) => store.commit({ puts: [put('edge', `e${at}`)] })),
      );
      const seen = await Promise.all(Array.from({ length: 50 }, () => store.currentRevision()));
      for (const revision of seen) assert.ok(revision >= 1);
      await writes;
      assert.equal(await store.currentRevision(), 201);
    });
  });
}
