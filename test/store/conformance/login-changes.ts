import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { LoginChange } from '../../../src/store/store.ts';
import { identityOf, newLogin } from './new-login.ts';
import type { OpenStore } from './store-under-test.ts';

export function loginChanges(openStore: OpenStore): void {
  suite('changes', { concurrency: 3 }, () => {
    test('everything that puts or ends a grant is announced before it resolves, and is in the log', async (t) => {
      const { store } = await openStore(t);
      const heard: string[] = [];
      const stop = store.logins.onChanged((changes) => heard.push(...changes.map(describeChange)));
      let told = 0;
      const expectHeard = (...expected: readonly string[]) => {
        assert.deepEqual(heard.slice(told), expected);
        told = heard.length;
      };
      const { logins } = store;
      await logins.recordLogin(newLogin('as_1', { keyHash: 'k1' }));
      expectHeard('put as_1 k1');
      await logins.recordLogin(newLogin('as_2', { keyHash: 'k2', previousKeyHash: 'k1' }));
      expectHeard('put as_1 k2', 'put as_2 k2');
      await logins.recordLogin(newLogin('as_3', { keyHash: 'k3', previousKeyHash: 'k2', replaces: ['as_2'] }));
      expectHeard('end as_2 k2', 'put as_1 k3', 'put as_3 k3');
      await logins.replaceTokens('as_3', 1, { secrets: {}, doc: {} });
      expectHeard('put as_3 k3');
      await logins.replaceTokens('as_3', 1, { secrets: {}, doc: {} });
      await logins.claimRefresh('as_3', 0, 1);
      await logins.releaseRefresh('as_3');
      expectHeard();
      await logins.deleteSession('as_3');
      expectHeard('end as_3 k3');
      await logins.deleteSession('as_3');
      expectHeard();
      await logins.deleteUser('au_1');
      expectHeard('end as_1 k3');
      for (const id of ['as_5', 'as_6', 'as_7', 'as_8']) {
        await logins.recordLogin(newLogin(id, { keyHash: id, edgeId: id, lastActiveMs: 9 }));
      }
      expectHeard('put as_5 as_5', 'put as_6 as_6', 'put as_7 as_7', 'put as_8 as_8');
      await logins.endByKey('as_5');
      await logins.endOrphans('as_6', []);
      await logins.touch([{ id: 'as_8', lastActiveMs: 20, expiresAtMs: 0 }]);
      await logins.prune(0, 10);
      await logins.endByProvider({
        issuer: 'https://idp.example.com',
        clientId: 'client-1',
        identity: identityOf('au_1'),
        providerSessionId: null,
        token: null,
      });
      expectHeard('end as_5 as_5', 'end as_6 as_6', 'end as_7 as_7', 'end as_8 as_8');

      const { isComplete, seq, changes } = await logins.changesSince(0);
      assert.deepEqual([isComplete, seq, changes.map(describeChange)], [true, heard.length, heard]);
      assert.deepEqual((await logins.changesSince(seq - 1)).changes.map(describeChange), ['end as_8 as_8']);
      assert.deepEqual(await logins.changesSince(seq), { isComplete: true, seq, changes: [] });
      assert.equal(await logins.currentSeq(), seq);
      stop();
      await logins.recordLogin(newLogin('as_9'));
      assert.equal(heard.length, told);
    });

    test('a user with many grants ends them all', async (t) => {
      const { store } = await openStore(t);
      const ids = Array.from({ length: 250 }, (_, at) => `as_${String(at).padStart(3, '0')}`);
      await Promise.all(ids.map((id) => store.logins.recordLogin(newLogin(id, { keyHash: id }))));
      const seq = await store.logins.currentSeq();
      await store.logins.deleteUser('au_1');
      assert.deepEqual(
        (await store.logins.changesSince(seq)).changes.map(describeChange),
        ids.map((id) => `end ${id} ${id}`),
      );
    });

    test('concurrent writes are announced in the order of the log', async (t) => {
      const { store } = await openStore(t);
      const heard: string[] = [];
      store.logins.onChanged((changes) => heard.push(...changes.map(describeChange)));
      await Promise.all(
        Array.from({ length: 40 }, async (_, at) => {
          const id = `as_${at}`;
          const userId = `au_${at}`;
          const recording = store.logins.recordLogin(newLogin(id, { keyHash: id, userId }));
          const ends = [
            () => store.logins.deleteSession(id),
            () => store.logins.endByKey(id),
            () => store.logins.deleteUser(userId),
          ];
          const ending = ends[at % ends.length]?.();
          const tokens = store.logins.replaceTokens(`as_${at - 1}`, 1, { secrets: {}, doc: {} });
          await recording;
          assert.ok(heard.includes(`put ${id} ${id}`), 'the listener came after the promise');
          await ending;
          assert.ok(heard.includes(`end ${id} ${id}`), 'the listener came after the promise');
          await tokens;
        }),
      );
      const { changes } = await store.logins.changesSince(0);
      assert.deepEqual(heard, changes.map(describeChange));
      assert.equal(heard.length, 80);
    });

    test('is not complete behind the pruned part, or ahead of the log', async (t) => {
      const { store } = await openStore(t, { keepRevisions: 3 });
      for (let at = 1; at <= 5; at += 1) await store.logins.recordLogin(newLogin(`as_${at}`, { keyHash: 'k' }));
      assert.equal((await store.logins.changesSince(0)).changes.length, 5);
      await store.prune(0);
      assert.deepEqual(await store.logins.changesSince(1), { isComplete: false, seq: 5, changes: [] });
      assert.deepEqual((await store.logins.changesSince(2)).changes.map(describeChange), [
        'put as_3 k',
        'put as_4 k',
        'put as_5 k',
      ]);
      assert.deepEqual(await store.logins.changesSince(6), { isComplete: false, seq: 5, changes: [] });
      await store.prune(0);
      await store.logins.recordLogin(newLogin('as_6', { keyHash: 'k' }));
      assert.deepEqual((await store.logins.changesSince(5)).changes.map(describeChange), ['put as_6 k']);
      // Pruning the log does not affect the grants themselves.
      assert.equal((await store.logins.findByKey('k')).length, 6);
    });

    test('numbers continue after the store was reopened', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      await store.logins.recordLogin(newLogin('as_1', { keyHash: 'k' }));
      const again = await opened.reopen();
      await again.logins.deleteSession('as_1');
      assert.deepEqual((await again.logins.changesSince(0)).changes.map(describeChange), ['put as_1 k', 'end as_1 k']);
      assert.equal(await again.logins.currentSeq(), 2);
    });
  });
}

function describeChange({ op, sessionId, keyHash }: LoginChange): string {
  return `${op} ${sessionId} ${keyHash}`;
}
