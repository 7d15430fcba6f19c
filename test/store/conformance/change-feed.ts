import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Change } from '../../../src/store/store.ts';
import { committed, everything, type OpenStore, put } from './store-under-test.ts';

export function changeFeed(openStore: OpenStore): void {
  suite('change feed', { concurrency: 3 }, () => {
    test('returns each changed record once, in its current state, in the order of its last change', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1'), put('edge', 'e2'), put('edge', 'e3')] });
      await committed(store, { puts: [put('edge', 'e1', { doc: { n: 1 } })] });
      await committed(store, { puts: [put('edge', 'e3', { doc: { n: 1 }, secrets: { s: 'x' } })] });
      await committed(store, { deletes: [{ kind: 'edge', id: 'e2' }] });
      await committed(store, { puts: [put('edge', 'e1', { doc: { n: 2 } })] });
      const feed = await store.changesSince(1);
      assert.ok(feed.isComplete);
      assert.equal(feed.revision, 5);
      assert.deepEqual(feed.changes.map(describeChange), ['put e3@3 {"n":1} x', 'delete e2@4', 'put e1@5 {"n":2} -']);
      assert.deepEqual(await store.changesSince(5), { isComplete: true, revision: 5, changes: [] });
    });

    test('a record that was deleted and recreated is a put', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1')] });
      await committed(store, { deletes: [{ kind: 'edge', id: 'e1' }] });
      await committed(store, { puts: [put('edge', 'e1')] });
      const feed = await store.changesSince(0);
      assert.deepEqual(feed.isComplete && feed.changes.map(describeChange), ['put e1@3 {} -']);
    });

    test('is not complete behind the pruned part, or ahead of the store', async (t) => {
      const { store } = await openStore(t, { keepRevisions: 3 });
      for (let at = 1; at <= 5; at += 1) await committed(store, { puts: [put('edge', `e${at}`)] });
      assert.equal((await store.changesSince(0)).isComplete, true);
      await store.prune(0);
      assert.deepEqual(await store.changesSince(1), { isComplete: false });
      const feed = await store.changesSince(2);
      assert.deepEqual(feed.isComplete && feed.changes.map(describeChange), [
        'put e3@3 {} -',
        'put e4@4 {} -',
        'put e5@5 {} -',
      ]);
      assert.deepEqual(await store.changesSince(6), { isComplete: false });
    });

    test('calls listeners with every change in order, before the commit resolves', async (t) => {
      const { store } = await openStore(t);
      const heard: number[] = [];
      const stop = store.onCommitted((changes) => heard.push(...changes.map(revisionOf)));
      await Promise.all(
        Array.from({ length: 40 }, async (_, at) => {
          const { revision } = await committed(store, { puts: [put('edge', `e${at}`)] });
          assert.ok(heard.includes(revision), 'the listener came after the promise');
        }),
      );
      assert.deepEqual(
        heard,
        Array.from({ length: 40 }, (_, at) => at + 1),
      );
      stop();
      await committed(store, { puts: [put('edge', 'e0')] });
      assert.equal(heard.length, 40);
    });

    test('readAll is one view, whatever is written meanwhile', async (t) => {
      const { store } = await openStore(t);
      // More than one batch, and two records that always change together.
      const fill = Array.from({ length: 2_500 }, (_, at) => put('backend', `b${String(at).padStart(5, '0')}`));
      await committed(store, { puts: [...fill, put('a', 'first'), put('z', 'last')] });
      const pair = (n: number) => [put('a', 'first', { doc: { n } }), put('z', 'last', { doc: { n } })];
      let isDone = false;
      const writing = (async () => {
        for (let n = 1; !isDone; n += 1) await committed(store, { puts: pair(n) });
      })();
      for (let round = 0; round < 5; round += 1) {
        const { revision, records } = await everything(store);
        const [first, last] = [records.at(0), records.at(-1)];
        assert.deepEqual(first?.doc, last?.doc);
        assert.equal(Math.max(...records.map((record) => record.revision)), revision);
        assert.equal(records.length, 2_502);
      }
      isDone = true;
      await writing;
    });
  });
}

function revisionOf(change: Change): number {
  return change.op === 'put' ? change.record.revision : change.revision;
}

function describeChange(change: Change): string {
  if (change.op === 'delete') return `delete ${change.key.id}@${change.revision}`;
  const { id, revision, doc, secrets } = change.record;
  return `put ${id}@${revision} ${JSON.stringify(doc)} ${secrets?.['s'] ?? '-'}`;
}
