import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ProviderLogout, Store } from '../../../src/store/store.ts';
import { identityOf, newLogin } from './new-login.ts';
import type { OpenStore } from './store-under-test.ts';

export function loginEnds(openStore: OpenStore): void {
  suite('ends', { concurrency: 3 }, () => {
    test('a grant ends once, and a user is deleted with their grants', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1'));
      await store.logins.recordLogin(newLogin('as_2'));
      await store.logins.recordLogin(newLogin('as_3', { userId: 'au_2' }));
      assert.equal(await store.logins.deleteUser('au_1'), true);
      assert.equal(await store.logins.deleteUser('au_1'), false);
      assert.deepEqual(await left(store), ['as_3']);
      assert.equal(await store.logins.deleteSession('as_3'), true);
      assert.equal(await store.logins.deleteSession('as_3'), false);
      // A user survives without grants, and gets a new id at the next login after a deletion.
      assert.notEqual(await store.logins.getUser('au_2'), null);
      const [again] = await store.logins.recordLogin({ ...newLogin('as_4'), newUserId: 'au_9' });
      assert.equal(again?.userId, 'au_9');
    });

    test('all of a browser', async (t) => {
      const { store } = await openStore(t);
      await store.logins.recordLogin(newLogin('as_1', { keyHash: 'k1' }));
      await store.logins.recordLogin(newLogin('as_2', { keyHash: 'k2', previousKeyHash: 'k1' }));
      await store.logins.recordLogin(newLogin('as_3', { keyHash: 'other' }));
      assert.deepEqual(await store.logins.endByKey('k1'), []);
      assert.deepEqual(await store.logins.endByKey('k2'), ['as_1', 'as_2']);
      assert.deepEqual(await store.logins.endByKey('k2'), []);
      assert.deepEqual(await left(store), ['as_3']);
    });

    const logouts: readonly (readonly [string, Partial<ProviderLogout>, readonly string[]])[] = [
      ['a provider session', { providerSessionId: 's1' }, ['as_1', 'as_2']],
      ['an identity', { identity: identityOf('au_1') }, ['as_1', 'as_3']],
      ['both', { identity: identityOf('au_1'), providerSessionId: 's1' }, ['as_1']],
      ['both that do not meet', { identity: identityOf('au_1'), providerSessionId: 's9' }, []],
      ['both, and a login that names no session', { identity: identityOf('au_2'), providerSessionId: 's2' }, ['as_6']],
      ['neither', {}, []],
      ['an unknown identity', { identity: identityOf('au_9') }, []],
      ['another client', { clientId: 'client-2', providerSessionId: 's1' }, ['as_4']],
      ['another issuer', { issuer: 'https://other.example.com', identity: identityOf('au_1') }, ['as_5']],
    ];
    for (const [name, logout, ended] of logouts) {
      test(`by the provider: ${name}`, async (t) => {
        const { store } = await openStore(t);
        const grants = [
          newLogin('as_1', { providerSessionId: 's1' }),
          newLogin('as_2', { providerSessionId: 's1', userId: 'au_2' }),
          newLogin('as_3', { providerSessionId: 's2' }),
          newLogin('as_4', { providerSessionId: 's1', clientId: 'client-2' }),
          newLogin('as_5', { issuer: 'https://other.example.com' }),
          newLogin('as_6', { userId: 'au_2' }),
        ];
        for (const grant of grants) await store.logins.recordLogin(grant);
        const none = {
          issuer: 'https://idp.example.com',
          clientId: 'client-1',
          identity: null,
          providerSessionId: null,
          token: null,
        };
        assert.deepEqual(await store.logins.endByProvider({ ...none, ...logout }), ended);
        const all = grants.map(({ session }) => session.id);
        assert.deepEqual(
          await left(store),
          all.filter((id) => !ended.includes(id)),
        );
      });
    }

    test('by the provider: a logout token counts once, and again when its logout could not be written', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      const logout: ProviderLogout = {
        issuer: 'https://idp.example.com',
        clientId: 'client-1',
        identity: identityOf('au_1'),
        providerSessionId: null,
        token: { key: 'logout:1', validUntilMs: 1_000 },
      };
      await store.logins.recordLogin(newLogin('as_1'));
      const answers = await Promise.all(Array.from({ length: 5 }, () => store.logins.endByProvider(logout)));
      assert.deepEqual(
        answers.filter((ended) => ended !== null),
        [['as_1']],
      );
      await store.logins.recordLogin(newLogin('as_2'));
      assert.equal(await (await opened.reopen()).logins.endByProvider(logout), null);
    });

    test('those of an edge whose client is gone', async (t) => {
      const { store } = await openStore(t);
      const kept = { issuer: 'https://kept.example.com', clientId: 'kept' };
      await store.logins.recordLogin(newLogin('as_1', { edgeId: 'e2', ...kept }));
      await store.logins.recordLogin(newLogin('as_2', { edgeId: 'e2', ...kept, clientId: 'gone' }));
      await store.logins.recordLogin(newLogin('as_3', { edgeId: 'e2', ...kept, issuer: 'https://gone.example.com' }));
      await store.logins.recordLogin(newLogin('as_4', { edgeId: 'e1', ...kept, clientId: 'gone' }));
      assert.deepEqual(await store.logins.listEdgeIds(), ['e1', 'e2']);
      const other = { issuer: 'https://gone.example.com', clientId: 'gone' };
      assert.deepEqual((await store.logins.endOrphans('e2', [kept, other])).toSorted(), ['as_2', 'as_3']);
      assert.deepEqual(await store.logins.endOrphans('e2', [kept]), []);
      assert.deepEqual(await store.logins.endOrphans('e2', []), ['as_1']);
      assert.deepEqual(await store.logins.listEdgeIds(), ['e1']);
      assert.deepEqual(await left(store), ['as_4']);
    });

    test('expired and unused ones; their users stay', async (t) => {
      const { store } = await openStore(t);
      const times: readonly (readonly [string, number, number])[] = [
        ['as_fresh', 500, 0],
        ['as_limited', 500, 1_001],
        ['as_expired', 999, 1_000],
        ['as_unused', 499, 0],
      ];
      for (const [id, lastActiveMs, expiresAtMs] of times) {
        await store.logins.recordLogin(newLogin(id, { userId: `au_${id}`, lastActiveMs, expiresAtMs }));
      }
      assert.deepEqual(await store.logins.prune(1_000, 500), ['as_expired', 'as_unused']);
      assert.deepEqual(await store.logins.prune(1_000, 500), []);
      assert.deepEqual(await left(store), ['as_fresh', 'as_limited']);
      assert.equal((await store.logins.listUsers({ beforeId: null, limit: 9 })).length, 4);
    });

    test("prunes more than one transaction's worth, each announced once", async (t) => {
      const { store } = await openStore(t);
      const ids = Array.from({ length: 1_100 }, (_, at) => `as_${at}`);
      await Promise.all(ids.map((id) => store.logins.recordLogin(newLogin(id, { lastActiveMs: 1 }))));
      const told: string[] = [];
      store.logins.onChanged((changes) => told.push(...changes.map(({ sessionId }) => sessionId)));
      assert.deepEqual((await store.logins.prune(5, 5)).toSorted(), ids.toSorted());
      assert.deepEqual(told.toSorted(), ids.toSorted());
      assert.deepEqual(await left(store), []);
    });
  });
}

async function left(store: Store): Promise<string[]> {
  const sessions = await store.logins.listSessions({ beforeId: null, limit: 999, nowMs: 0 });
  return sessions.map(({ id }) => id).reverse();
}
