import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { committed, everything, type OpenStore, put } from './store-under-test.ts';

export function durability(openStore: OpenStore): void {
  suite('reopening', { concurrency: 3 }, () => {
    test('keeps everything, and revisions continue', async (t) => {
      const opened = await openStore(t);
      const event = { id: 'ev_1', type: 'x', createdAtMs: 5, payload: { a: 1 } };
      await committed(opened.store, { puts: [put('edge', 'e1', { secrets: { s: 'planted' } })], events: [event] });
      const before = await everything(opened.store);
      const { accountId } = opened.store;
      const mac = opened.store.mac('purpose', 'data');
      const store = await opened.reopen();
      assert.deepEqual(await everything(store), before);
      assert.equal(store.accountId, accountId);
      assert.match(accountId, /^ac_[0-9A-Za-z]{27}$/);
      assert.equal(store.mac('purpose', 'data'), mac);
      assert.notEqual(store.mac('other purpose', 'data'), mac);
      assert.deepEqual(await store.events.get('ev_1'), event);
      assert.equal((await committed(store, { puts: [put('edge', 'e2')] })).revision, 2);
    });

    test('a closed store rejects instead of waiting', async (t) => {
      const { store } = await openStore(t);
      const inFlight = store.commit({ puts: [put('edge', 'e1')] });
      await store.close();
      assert.equal((await inFlight).ok, true);
      await assert.rejects(store.commit({ puts: [put('edge', 'e2')] }), { code: 'ERR_POSTERN_STORE_UNAVAILABLE' });
      await assert.rejects(store.currentRevision(), { code: 'ERR_POSTERN_STORE_UNAVAILABLE' });
    });
  });
}
