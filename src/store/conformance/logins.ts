import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LoginSession } from '../store.ts';
import type { OpenStore } from './store-under-test.ts';

function session(id: string, rest: Partial<LoginSession> = {}): LoginSession {
  return {
    id,
    userId: 'au_1',
    keyHash: `hash-${id}`,
    lastActiveMs: 10,
    expiresAtMs: 0,
    doc: { id },
    secrets: null,
    ...rest,
  };
}

export function logins(openStore: OpenStore): void {
  describe('logins', { concurrency: true }, () => {
    test('users and sessions are put, replaced, read and listed newest first', async (t) => {
      const { store } = await openStore(t);
      await store.logins.putUser({ id: 'au_1', doc: { name: 'one' } });
      await store.logins.putUser({ id: 'au_2', doc: {} });
      await store.logins.putUser({ id: 'au_1', doc: { name: 'uno' } });
      assert.deepEqual(await store.logins.getUser('au_1'), { id: 'au_1', doc: { name: 'uno' } });
      assert.equal(await store.logins.getUser('au_3'), null);
      const users = await store.logins.listUsers({ beforeId: null, limit: 9 });
      assert.deepEqual(
        users.map(({ id }) => id),
        ['au_2', 'au_1'],
      );

      const kept = session('as_1', { secrets: { refresh_token: 'planted' } });
      await store.logins.putSession(session('as_1'));
      await store.logins.putSession(kept);
      assert.deepEqual(await store.logins.getSession('as_1'), kept);
      assert.equal(await store.logins.getSession('as_2'), null);
      assert.equal(await store.currentRevision(), 0);
    });

    test('expired sessions are not listed; 0 means no limit', async (t) => {
      const { store } = await openStore(t);
      for (const [id, expiresAtMs] of [
        ['as_1', 0],
        ['as_2', 100],
        ['as_3', 101],
      ] as const) {
        await store.logins.putSession(session(id, { expiresAtMs }));
      }
      const listed = await store.logins.listSessions({ beforeId: null, limit: 9, nowMs: 100 });
      assert.deepEqual(
        listed.map(({ id }) => id),
        ['as_3', 'as_1'],
      );
      const next = await store.logins.listSessions({ beforeId: 'as_3', limit: 9, nowMs: 100 });
      assert.deepEqual(
        next.map(({ id }) => id),
        ['as_1'],
      );
    });

    test('a user goes with their sessions', async (t) => {
      const { store } = await openStore(t);
      await store.logins.putUser({ id: 'au_1', doc: {} });
      await store.logins.putSession(session('as_1'));
      await store.logins.putSession(session('as_2', { userId: 'au_2' }));
      assert.equal(await store.logins.deleteUser('au_1'), true);
      assert.equal(await store.logins.deleteUser('au_1'), false);
      assert.equal(await store.logins.getSession('as_1'), null);
      assert.equal(await store.logins.deleteSession('as_2'), true);
      assert.equal(await store.logins.deleteSession('as_2'), false);
    });

    test('two sessions cannot have one key', async (t) => {
      const { store } = await openStore(t);
      await store.logins.putSession(session('as_1', { keyHash: 'same' }));
      await assert.rejects(store.logins.putSession(session('as_2', { keyHash: 'same' })));
      assert.equal(await store.logins.getSession('as_2'), null);
    });
  });
}
