import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { committed, everything, type OpenStore, put, readRecord, refersTo } from './store-under-test.ts';

export function writing(openStore: OpenStore): void {
  suite('writing', { concurrency: 3 }, () => {
    test('a put is read back completely, secrets in plain', async (t) => {
      const { store } = await openStore(t);
      const doc = { name: 'grüße \u0000 \ud83d\ude00', list: [1, null, { deep: true }] };
      await committed(store, { puts: [put('edge', 'e1')] });
      const result = await committed(store, {
        puts: [put('route', 'r1', { parent: 'e1', doc, secrets: { client_secret: 'planted' } })],
      });
      const record = { kind: 'route', id: 'r1', parent: 'e1', revision: 2, doc, secrets: { client_secret: 'planted' } };
      assert.deepEqual(result, { ok: true, revision: 2, changes: [{ op: 'put', record }] });
      assert.deepEqual(await readRecord(store, record), record);
    });

    test('a put without expectation replaces the record', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1', { doc: { a: 1 }, secrets: { s: 'x' } })] });
      await committed(store, { puts: [put('edge', 'e1', { doc: { b: 2 } })] });
      const { records } = await everything(store);
      assert.deepEqual(records, [{ kind: 'edge', id: 'e1', parent: null, revision: 2, doc: { b: 2 }, secrets: null }]);
    });

    test('expectations alone take no revision', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1')] });
      const asked = await store.commit({
        expect: [
          { kind: 'edge', id: 'e1', revision: 1 },
          { kind: 'edge', id: 'e2', revision: 'absent' },
        ],
      });
      assert.deepEqual(asked, { ok: true, revision: 1, changes: [] });
      assert.equal(await store.currentRevision(), 1);
    });

    test('a delete removes all descendants, at any depth', async (t) => {
      const { store } = await openStore(t);
      await committed(store, {
        puts: [
          put('edge', 'e1'),
          put('route', 'r1', { parent: 'e1' }),
          put('module', 'm1', { parent: 'r1', uniqueKeys: [{ scope: 's', key: 'k' }] }),
          put('edge', 'e2'),
          put('route', 'r2', { parent: 'e2' }),
        ],
      });
      const { changes } = await committed(store, { deletes: [{ kind: 'edge', id: 'e1' }] });
      const gone = changes.map((change) =>
        change.op === 'delete' ? `${change.key.id}@${change.revision}` : change.op,
      );
      assert.deepEqual(gone.sort(), ['e1@2', 'm1@2', 'r1@2']);
      const { records } = await everything(store);
      assert.deepEqual(
        records.map(({ id }) => id),
        ['e2', 'r2'],
      );
      await committed(store, { puts: [put('module', 'm2', { uniqueKeys: [{ scope: 's', key: 'k' }] })] });
    });

    test('references among records that are deleted together do not block', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1'), put('backend', 'b1')] });
      const toBackend = refersTo({ kind: 'backend', id: 'b1' });
      await committed(store, { puts: [put('route', 'r1', { parent: 'e1', references: [toBackend] })] });
      await committed(store, {
        deletes: [
          { kind: 'backend', id: 'b1' },
          { kind: 'edge', id: 'e1' },
        ],
      });
      assert.deepEqual((await everything(store)).records, []);
    });

    test('a reference removed in the same write set does not block', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('backend', 'b1')] });
      await committed(store, { puts: [put('route', 'r1', { references: [refersTo({ kind: 'backend', id: 'b1' })] })] });
      await committed(store, { puts: [put('route', 'r1')], deletes: [{ kind: 'backend', id: 'b1' }] });
    });

    test('a record that is deleted and put again loses its children', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('edge', 'e1'), put('route', 'r1', { parent: 'e1' })] });
      await committed(store, { deletes: [{ kind: 'edge', id: 'e1' }], puts: [put('edge', 'e1', { doc: { n: 2 } })] });
      const { records } = await everything(store);
      assert.deepEqual(
        records.map(({ id, doc }) => ({ id, doc })),
        [{ id: 'e1', doc: { n: 2 } }],
      );
    });

    test('a touch changes the revision and nothing else', async (t) => {
      const { store } = await openStore(t);
      const uniqueKeys = [{ scope: 's', key: 'k' }];
      await committed(store, { puts: [put('edge', 'e1', { doc: { a: 1 }, secrets: { s: 'x' }, uniqueKeys })] });
      await committed(store, { puts: [put('route', 'r1', { parent: 'e1' })] });
      const result = await committed(store, {
        deletes: [{ kind: 'route', id: 'r1' }],
        touches: [{ kind: 'edge', id: 'e1' }],
      });
      const record = { kind: 'edge', id: 'e1', parent: null, revision: 3, doc: { a: 1 }, secrets: { s: 'x' } };
      assert.deepEqual(result.changes.at(-1), { op: 'put', record });
      assert.deepEqual(await readRecord(store, record), record);
      assert.equal((await store.commit({ puts: [put('edge', 'e2', { uniqueKeys })] })).ok, false);
    });

    test('unique keys are kept, released and passed on within one write set', async (t) => {
      const { store } = await openStore(t);
      const key = (name: string) => ({ scope: 'hostport', key: name });
      await committed(store, { puts: [put('edge', 'e1', { uniqueKeys: [key('a'), key('b')] })] });
      await committed(store, { puts: [put('edge', 'e1', { uniqueKeys: [key('b'), key('c')] })] });
      await committed(store, { puts: [put('edge', 'e2', { uniqueKeys: [key('a')] })] });
      await committed(store, {
        puts: [put('edge', 'e1', { uniqueKeys: [key('a')] }), put('edge', 'e2', { uniqueKeys: [key('b'), key('c')] })],
      });
      await committed(store, {
        deletes: [{ kind: 'edge', id: 'e1' }],
        puts: [put('edge', 'e3', { uniqueKeys: [key('a')] })],
      });
    });

    test('ids compare by bytes', async (t) => {
      const { store } = await openStore(t);
      const ids = ['a', 'B', 'b', 'A', '0', '~', 'é', 'z', 'Z', '_'];
      await committed(store, { puts: ids.map((id) => put('edge', id)) });
      const { records } = await everything(store);
      const byBytes = ids.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      assert.deepEqual(
        records.map(({ id }) => id),
        byBytes,
      );
    });

    test('a write set of thousands of records is one revision', async (t) => {
      const { store } = await openStore(t);
      const puts = Array.from({ length: 3_000 }, (_, at) =>
        put('backend', `b${at}`, { uniqueKeys: [{ scope: 'name', key: `n${at}` }], ...(at > 0 && { parent: 'b0' }) }),
      );
      await committed(store, { puts });
      assert.equal((await everything(store)).records.length, 3_000);
      const { revision, changes } = await committed(store, { deletes: [{ kind: 'backend', id: 'b0' }] });
      assert.deepEqual([revision, changes.length], [2, 3_000]);
    });
  });
}
