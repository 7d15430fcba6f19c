import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoginChange, Store } from '../../src/store/store.ts';
import { newLogin } from './conformance/new-login.ts';
import { emptyLocation, openAt, usePostgres } from './engines.ts';

usePostgres();

const ALL = { beforeId: null, limit: 9_999 };

test('two stores: one follows the log of the other, and is notified only of its own writes', async (t) => {
  const { one, other } = await twoStores(t);
  const heard: LoginChange[] = [];
  other.logins.onChanged((changes) => heard.push(...changes));
  await one.logins.recordLogin(newLogin('as_1', { keyHash: 'k1' }));
  await other.logins.recordLogin(newLogin('as_2', { keyHash: 'k2', previousKeyHash: 'k1' }));
  await one.logins.deleteSession('as_1');
  assert.deepEqual(await other.logins.changesSince(0), {
    isComplete: true,
    seq: 4,
    changes: [
      { op: 'put', sessionId: 'as_1', keyHash: 'k1' },
      { op: 'put', sessionId: 'as_1', keyHash: 'k2' },
      { op: 'put', sessionId: 'as_2', keyHash: 'k2' },
      { op: 'end', sessionId: 'as_1', keyHash: 'k2' },
    ],
  });
  assert.deepEqual(
    heard.map(({ op, sessionId }) => `${op} ${sessionId}`),
    ['put as_1', 'put as_2'],
  );
});

test('the other store hears at once of every begin, move and end of a login, and not of its own', async (t) => {
  const { one, other } = await twoStores(t);
  const heard = { one: 0, other: 0 };
  one.logins.onForeignChange(() => {
    heard.one += 1;
  });
  other.logins.onForeignChange(() => {
    heard.other += 1;
  });
  const login = (id: string) => one.logins.recordLogin(newLogin(id, { userId: `au_${id}`, keyHash: `k_${id}` }));
  const provider = { issuer: 'https://idp.example.com', clientId: 'client-1', identity: null, token: null };
  for (const [name, change] of [
    ['begins', () => login('as_1')],
    ['gets tokens', () => one.logins.replaceTokens('as_1', 1, { doc: {}, secrets: {} })],
    ['ends', () => one.logins.deleteSession('as_1')],
    ['begins again', () => login('as_2')],
    ['ends with its browser', () => one.logins.endByKey('k_as_2')],
    ['begins again', () => login('as_3')],
    ['ends with its user', () => one.logins.deleteUser('au_as_3')],
    ['begins again', () => one.logins.recordLogin(newLogin('as_4', { providerSessionId: 'sid' }))],
    ['ends at its provider', () => one.logins.endByProvider({ ...provider, providerSessionId: 'sid' })],
    ['begins again', () => login('as_5')],
    ['loses its client', () => one.logins.endOrphans('edghts_1', [])],
    ['begins again', () => login('as_6')],
    ['expires', () => one.logins.prune(100, 100)],
  ] as const) {
    const before = heard.other;
    await change();
    for (let waitedMs = 0; heard.other === before; waitedMs += 5) {
      assert.ok(waitedMs < 10_000, `a login ${name}, and nobody hears of it`);
      await sleep(5);
    }
  }
  await one.logins.touch([{ id: 'as_6', lastActiveMs: 1, expiresAtMs: 1 }]);
  assert.equal(heard.one, 0);
});

test('a polling follower misses nothing and sees nothing twice while two stores write', async (t) => {
  const { one, other } = await twoStores(t);
  const seen: string[] = [];
  let seq = 0;
  const poll = async () => {
    const found = await one.logins.changesSince(seq);
    assert.ok(found.isComplete);
    assert.equal(found.seq, seq + found.changes.length);
    seq = found.seq;
    for (const { op, sessionId } of found.changes) seen.push(`${op} ${sessionId}`);
  };
  let isDone = false;
  const following = (async () => {
    while (!isDone) await poll();
  })();
  const writeAll = async (store: Store, name: string) => {
    for (let at = 0; at < 60; at += 1) {
      const id = `as_${name}_${at}`;
      await Promise.all([store.logins.recordLogin(newLogin(id)), store.logins.deleteSession(id)]);
    }
  };
  await Promise.all([writeAll(one, 'one'), writeAll(other, 'other')]);
  isDone = true;
  await following;
  await poll();
  assert.equal(seen.length, 240);
  assert.equal(new Set(seen).size, 240);
});

test('two stores: one of two claims of a refresh is granted, and the loser reads what the winner wrote', async (t) => {
  const { one, other } = await twoStores(t);
  for (let round = 0; round < 10; round += 1) {
    const id = `as_${round}`;
    await one.logins.recordLogin(newLogin(id));
    const claims = await Promise.all([one, other].map((store) => store.logins.claimRefresh(id, 100, 200)));
    assert.equal(claims.filter(Boolean).length, 1);
    const [winner, loser] = claims[0] ? [one, other] : [other, one];
    const tokens = { secrets: { refresh_token: `rotated-${round}` }, doc: {} };
    assert.notEqual(await winner.logins.replaceTokens(id, 1, tokens), null);
    assert.equal(await loser.logins.replaceTokens(id, 1, { ...tokens, secrets: {} }), null);
    const read = await loser.logins.getSession(id);
    assert.deepEqual([read?.version, read?.secrets], [2, tokens.secrets]);
  }
});

test('two stores: one identity that logs in at both concurrently is one user', async (t) => {
  const { one, other } = await twoStores(t);
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(
      [one, other].map((store, at) =>
        store.logins.recordLogin({
          ...newLogin(`as_${round}_${at}`, { userId: `au_${round}` }),
          newUserId: `au_${round}_${at}`,
        }),
      ),
    );
  }
  assert.equal((await one.logins.listUsers(ALL)).length, 10);
  assert.equal((await one.logins.listSessions({ ...ALL, nowMs: 0 })).length, 20);
});

test('two stores: no write of one revives what the other has ended', async (t) => {
  const { one, other } = await twoStores(t);
  for (let round = 0; round < 10; round += 1) {
    const id = `as_${round}`;
    await one.logins.recordLogin(newLogin(id));
    await Promise.all([
      one.logins.deleteSession(id),
      other.logins.touch([{ id, lastActiveMs: 50, expiresAtMs: 0 }]),
      other.logins.replaceTokens(id, 1, { secrets: { refresh_token: 'late' }, doc: {} }),
      other.logins.claimRefresh(id, 0, 100),
    ]);
    assert.equal(await other.logins.getSession(id), null);
  }
  const { changes } = await one.logins.changesSince(0);
  const last = new Map(changes.map(({ sessionId, op }) => [sessionId, op]));
  assert.deepEqual(new Set(last.values()), new Set(['end']));
});

async function twoStores(t: Parameters<typeof emptyLocation>[0]) {
  const location = await emptyLocation(t, 'postgres');
  const [one, other] = [await openAt(location), await openAt(location)];
  return { one, other };
}
