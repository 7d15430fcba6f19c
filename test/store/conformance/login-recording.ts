import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { newLogin } from './new-login.ts';
import type { OpenStore } from './store-under-test.ts';

const ALL = { beforeId: null, limit: 999 };

export function loginRecording(openStore: OpenStore): void {
  suite('recording', { concurrency: 3 }, () => {
    test('a login creates a user and a grant, and takes no revision', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      const login = newLogin('as_1', {
        userDoc: { name: 'one', created_at: 'then' },
        providerSessionId: 'sid-1',
        expiresAtMs: 2 ** 45,
        secrets: { refresh_token: 'planted' },
      });
      const recorded = await store.logins.recordLogin(login);
      const expected = { ...login.session, userId: 'au_1', version: 1 };
      assert.deepEqual(recorded, [expected]);
      assert.equal(await store.currentRevision(), 0);
      const again = await opened.reopen();
      assert.deepEqual(await again.logins.getSession('as_1'), expected);
      assert.deepEqual(await again.logins.findByKey(login.session.keyHash), [expected]);
      assert.deepEqual(await again.logins.getUser('au_1'), { id: 'au_1', doc: login.userDoc });
      assert.equal(await again.logins.getSession('as_2'), null);
      assert.equal(await again.logins.getUser('au_2'), null);
      assert.deepEqual(await again.logins.findByKey('as_1'), []);
    });

    test("the second login of an identity replaces its user's document, except for created_at", async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { userDoc: { name: 'one', created_at: 'first', old: true } }));
      await store.logins.recordLogin({
        ...newLogin('as_2', { userDoc: { name: 'uno', created_at: 'second' } }),
        newUserId: 'au_unused',
      });
      assert.deepEqual(await store.logins.listUsers(ALL), [{ id: 'au_1', doc: { name: 'uno', created_at: 'first' } }]);
      assert.equal((await store.logins.getSession('as_2'))?.userId, 'au_1');
    });

    test('an identity that logs in many times concurrently for the first time is one user', async (t) => {
      const { store } = await openStore(t);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          store.logins.recordLogin({ ...newLogin(`as_${at}`), newUserId: `au_${at}` }),
        ),
      );
      const users = await store.logins.listUsers(ALL);
      assert.equal(users.length, 1);
      for (const [session] of answers) assert.equal(session?.userId, users[0]?.id);
    });

    test('users and grants are listed newest first, without expired grants; 0 means no limit', async (t) => {
      const { store } = await openStore(t);
      for (const [id, userId, expiresAtMs] of [
        ['as_1', 'au_1', 0],
        ['as_2', 'au_2', 100],
        ['as_3', 'au_3', 101],
      ] as const) {
        await store.logins.recordLogin(newLogin(id, { userId, expiresAtMs }));
      }
      const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);
      assert.deepEqual(idsOf(await store.logins.listUsers({ beforeId: null, limit: 2 })), ['au_3', 'au_2']);
      assert.deepEqual(idsOf(await store.logins.listUsers({ beforeId: 'au_2', limit: 2 })), ['au_1']);
      assert.deepEqual(idsOf(await store.logins.listSessions({ ...ALL, nowMs: 100 })), ['as_3', 'as_1']);
      assert.deepEqual(idsOf(await store.logins.listSessions({ ...ALL, beforeId: 'as_3', nowMs: 100 })), ['as_1']);
    });

    test('a login with a known browser moves its other grants to the new key, and ends those it replaces', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { keyHash: 'k1', secrets: { t: 'one' } }));
      await store.logins.recordLogin(newLogin('as_2', { keyHash: 'k2', previousKeyHash: 'k1', userId: 'au_2' }));
      await store.logins.recordLogin(newLogin('as_other', { keyHash: 'other' }));
      const before = await store.logins.getSession('as_1');
      assert.deepEqual(
        (await store.logins.findByKey('k2')).map(({ id }) => id),
        ['as_1', 'as_2'],
      );
      const recorded = await store.logins.recordLogin(
        newLogin('as_3', { keyHash: 'k3', previousKeyHash: 'k2', replaces: ['as_2', 'as_other', 'as_none'] }),
      );
      assert.deepEqual(
        recorded.map(({ id, userId, keyHash }) => [id, userId, keyHash]),
        [
          ['as_1', 'au_1', 'k3'],
          ['as_3', 'au_1', 'k3'],
        ],
      );
      // Only the key changed: the tokens are the same.
      assert.deepEqual(recorded[0], { ...before, keyHash: 'k3' });
      for (const old of ['k1', 'k2']) assert.deepEqual(await store.logins.findByKey(old), []);
      assert.equal(await store.logins.getSession('as_2'), null);
      assert.equal((await store.logins.getSession('as_other'))?.keyHash, 'other');
    });

    test('without a known browser nothing is replaced', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { keyHash: 'k1' }));
      await store.logins.recordLogin(newLogin('as_2', { keyHash: 'k2', replaces: ['as_1'] }));
      assert.equal((await store.logins.findByKey('k1')).length, 1);
    });

    test('two concurrent logins of one browser leave both grants, under one key or two, and none under the old one', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { keyHash: 'k1' }));
      await Promise.all(
        ['a', 'b'].map((tab) =>
          store.logins.recordLogin(newLogin(`as_${tab}`, { keyHash: tab, previousKeyHash: 'k1', replaces: ['as_1'] })),
        ),
      );
      assert.deepEqual(await store.logins.findByKey('k1'), []);
      const left = await store.logins.listSessions({ ...ALL, nowMs: 0 });
      assert.deepEqual(
        left.map(({ id }) => id),
        ['as_b', 'as_a'],
      );
    });

    test('a login that cannot be stored changes nothing', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { keyHash: 'k1', userDoc: { name: 'one' } }));
      const heard: unknown[] = [];
      store.logins.onChanged((changes) => heard.push(changes));
      await assert.rejects(
        store.logins.recordLogin(
          newLogin('as_1', { keyHash: 'k2', userDoc: { name: 'two' }, previousKeyHash: 'k1', replaces: [] }),
        ),
      );
      assert.deepEqual((await store.logins.getUser('au_1'))?.doc, { name: 'one' });
      assert.equal((await store.logins.getSession('as_1'))?.keyHash, 'k1');
      assert.deepEqual([heard, await store.logins.currentSeq()], [[], 1]);
    });
  });
}
