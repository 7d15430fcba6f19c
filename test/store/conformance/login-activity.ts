import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { rfc3339 } from '../../../src/kit/clock.ts';
import type { Store } from '../../../src/store/store.ts';
import { newLogin } from './new-login.ts';
import type { OpenStore } from './store-under-test.ts';

export function loginActivity(openStore: OpenStore): void {
  suite('activity', { concurrency: 3 }, () => {
    test('moves the grant and its user forwards, never back, and announces nothing', async (t) => {
      const { store } = await openStore(t);
      const early = rfc3339(10);
      await store.logins.recordLogin(newLogin('as_1', { userDoc: { name: 'one', last_active: early } }));
      await store.logins.recordLogin(newLogin('as_2', { userDoc: { name: 'one', last_active: early } }));
      await store.logins.recordLogin(newLogin('as_3', { userId: 'au_2', userDoc: { name: 'two' } }));
      const seq = await store.logins.currentSeq();
      const heard: unknown[] = [];
      store.logins.onChanged((changes) => heard.push(changes));

      await store.logins.touch([
        { id: 'as_1', lastActiveMs: 50, expiresAtMs: 150 },
        { id: 'as_2', lastActiveMs: 40, expiresAtMs: 140 },
        { id: 'as_3', lastActiveMs: 30, expiresAtMs: 0 },
      ]);
      assert.deepEqual(await times(store, 'as_1'), [50, 150, 1]);
      assert.deepEqual(await times(store, 'as_2'), [40, 140, 1]);
      assert.deepEqual(await times(store, 'as_3'), [30, 0, 1]);
      assert.deepEqual((await store.logins.getUser('au_1'))?.doc, { name: 'one', last_active: rfc3339(50) });
      assert.deepEqual((await store.logins.getUser('au_2'))?.doc, { name: 'two', last_active: rfc3339(30) });

      await store.logins.touch([
        { id: 'as_1', lastActiveMs: 49, expiresAtMs: 999 },
        { id: 'as_2', lastActiveMs: 45, expiresAtMs: 145 },
      ]);
      assert.deepEqual(await times(store, 'as_1'), [50, 150, 1]);
      assert.deepEqual(await times(store, 'as_2'), [45, 145, 1]);
      assert.deepEqual((await store.logins.getUser('au_1'))?.doc, { name: 'one', last_active: rfc3339(50) });
      await store.logins.touch([]);
      assert.deepEqual([heard, await store.logins.currentSeq()], [[], seq]);
    });

    test('the newest of several entries for one grant in a batch counts', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1'));
      await store.logins.touch([
        { id: 'as_1', lastActiveMs: 20, expiresAtMs: 120 },
        { id: 'as_1', lastActiveMs: 40, expiresAtMs: 140 },
        { id: 'as_1', lastActiveMs: 30, expiresAtMs: 130 },
      ]);
      assert.deepEqual(await times(store, 'as_1'), [40, 140, 1]);
    });

    test('revives nothing that has ended, and changes no other key', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1'));
      await store.logins.recordLogin(newLogin('as_2'));
      await store.logins.deleteSession('as_1');
      await store.logins.touch(['as_1', 'as_2', 'as_none'].map((id) => ({ id, lastActiveMs: 50, expiresAtMs: 150 })));
      assert.equal(await store.logins.getSession('as_1'), null);
      assert.equal(await store.logins.getSession('as_none'), null);
      assert.deepEqual(await times(store, 'as_2'), [50, 150, 1]);
      await store.logins.deleteUser('au_1');
      await store.logins.touch([{ id: 'as_2', lastActiveMs: 60, expiresAtMs: 160 }]);
      assert.equal(await store.logins.getSession('as_2'), null);
      assert.equal(await store.logins.getUser('au_1'), null);
    });

    test('stores a large batch completely', async (t) => {
      const { store } = await openStore(t);
      const ids = Array.from({ length: 450 }, (_, at) => `as_${String(at).padStart(4, '0')}`);
      await Promise.all(ids.map((id, at) => store.logins.recordLogin(newLogin(id, { userId: `au_${at}` }))));
      const activeMs = Date.UTC(2026, 1, 1);
      await store.logins.touch(ids.map((id) => ({ id, lastActiveMs: activeMs, expiresAtMs: 0 })));
      const sessions = await store.logins.listSessions({ beforeId: null, limit: 999, nowMs: 0 });
      assert.equal(sessions.filter(({ lastActiveMs }) => lastActiveMs === activeMs).length, ids.length);
      const users = await store.logins.listUsers({ beforeId: null, limit: 999 });
      assert.equal(users.filter(({ doc }) => doc['last_active'] === rfc3339(activeMs)).length, ids.length);
    });
  });

  suite('tokens', { concurrency: 3 }, () => {
    test('one of many concurrent claims is granted, until it expires or is released', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1'));
      const claims = await Promise.all(Array.from({ length: 10 }, () => store.logins.claimRefresh('as_1', 100, 200)));
      assert.equal(claims.filter(Boolean).length, 1);
      assert.equal(await store.logins.claimRefresh('as_1', 199, 300), false);
      assert.equal(await store.logins.claimRefresh('as_1', 200, 300), true);
      assert.equal(await store.logins.claimRefresh('as_1', 250, 350), false);
      await store.logins.releaseRefresh('as_1');
      assert.equal(await store.logins.claimRefresh('as_1', 250, 350), true);
      assert.equal(await store.logins.claimRefresh('as_none', 0, 1), false);
      await store.logins.deleteSession('as_1');
      assert.equal(await store.logins.claimRefresh('as_1', 999, 1_999), false);
      await store.logins.releaseRefresh('as_1');
    });

    test('are replaced by the caller that knows the version, which releases the claim', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      await store.logins.recordLogin(newLogin('as_1', { secrets: { refresh_token: 'first' } }));
      const before = await store.logins.getSession('as_1');
      assert.equal(await store.logins.claimRefresh('as_1', 0, 1_000), true);
      const tokens = { secrets: { refresh_token: 'second' }, doc: { expires_in: 60 } };
      const after = { ...before, ...tokens, version: 2 };
      assert.deepEqual(await store.logins.replaceTokens('as_1', 1, tokens), after);
      assert.equal(await store.logins.claimRefresh('as_1', 1, 1_000), true);
      const late = { secrets: { refresh_token: 'late' }, doc: {} };
      assert.equal(await store.logins.replaceTokens('as_1', 1, late), null);
      // A failed claim does not release: another caller holds it.
      assert.equal(await store.logins.claimRefresh('as_1', 2, 1_000), false);
      assert.deepEqual(await (await opened.reopen()).logins.getSession('as_1'), after);
    });

    test("update the user's reported fields, and keep the others", async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { userDoc: { name: 'Ada', email: 'a@example.com', since: 1 } }));
      const tokens = { secrets: {}, doc: {} };
      await store.logins.replaceTokens('as_1', 1, { ...tokens, user: { name: 'Ada L.', email: '' } });
      assert.deepEqual((await store.logins.getUser('au_1'))?.doc, { name: 'Ada L.', email: '', since: 1 });
      await store.logins.replaceTokens('as_1', 1, { ...tokens, user: { name: 'late' } });
      assert.equal((await store.logins.getUser('au_1'))?.doc['name'], 'Ada L.');
    });

    test('written twice concurrently are written once', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { secrets: { refresh_token: 'first' } }));
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          store.logins.replaceTokens('as_1', 1, { secrets: { refresh_token: `n${at}` }, doc: {} }),
        ),
      );
      const [winner, ...others] = answers.filter((answer) => answer !== null);
      assert.deepEqual(others, []);
      assert.deepEqual(await store.logins.getSession('as_1'), winner);
    });

    test('of an ended grant are not written', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1'));
      await store.logins.deleteSession('as_1');
      const tokens = { secrets: { refresh_token: 'late' }, doc: {} };
      assert.equal(await store.logins.replaceTokens('as_1', 1, tokens), null);
      assert.equal(await store.logins.getSession('as_1'), null);
    });
  });
  suite('claims', { concurrency: 3 }, () => {
    test('one of many concurrent claims is granted until it has expired', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      const claims = await Promise.all(Array.from({ length: 10 }, () => store.logins.claimOnce('state:1', 500)));
      assert.equal(claims.filter(Boolean).length, 1);
      assert.equal(await store.logins.claimOnce('state:2', 500), true);
      await store.prune(499);
      assert.equal(await (await opened.reopen()).logins.claimOnce('state:1', 500), false);
    });

    test('are forgotten once expired', async (t) => {
      const { store } = await openStore(t);
      await store.logins.claimOnce('state:1', 500);
      await store.prune(500);
      assert.equal(await store.logins.claimOnce('state:1', 900), true);
    });
  });
}

async function times(store: Store, id: string) {
  const session = await store.logins.getSession(id);
  return [session?.lastActiveMs, session?.expiresAtMs, session?.version];
}
