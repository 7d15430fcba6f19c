import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FollowedRecord, OwnRecordPut } from '../../contract/kept-records.ts';
import { AccountToken, ServiceAccount } from './account-token.ts';
import { TokenUses } from './token-uses.ts';

/** A store of records, a clock and a timer that tests drive. */
function fakes() {
  const records = new Map<string, FollowedRecord>();
  const state = { nowMs: 1_000_000, isDown: false, problems: 0, tick: (): void => {} };
  const writes: (readonly string[])[] = [];
  const uses = new TokenUses({
    clock: { nowMs: () => state.nowMs },
    timers: {
      every: (_ms, task) => {
        state.tick = task;
        return () => {};
      },
      sleep: () => Promise.resolve(),
    },
    log: { info: () => {}, warn: () => {}, error: () => (state.problems += 1) },
    followed: {
      all: () => [],
      get: (_kind: string, id: string) => records.get(id),
      onChange: () => () => {},
      write: (puts: readonly OwnRecordPut[]) => {
        if (state.isDown) return Promise.reject(new Error('the store is down'));
        if (puts.some(({ id, seen }) => records.get(id)?.revision !== seen?.revision)) return Promise.resolve(false);
        for (const { kind, id, doc } of puts) records.set(id, { kind, id, doc, revision: state.nowMs });
        writes.push(puts.map(({ id }) => id));
        return Promise.resolve(true);
      },
      remove: () => Promise.resolve(),
      recompile: () => {},
    } as never,
  });
  const token = (id: string): AccountToken =>
    new AccountToken({ id, hash: id, account: new ServiceAccount('sa_1'), expiresAtMs: Infinity }, (used) =>
      uses.add(used),
    );
  const after = async (ms: number): Promise<void> => {
    state.nowMs += ms;
    state.tick();
    await new Promise(setImmediate);
  };
  return { state, writes, uses, token, after };
}

test('records the first use at once and later ones once a minute', async () => {
  const { state, writes, token, after } = fakes();
  const [one, two] = [token('sat_1'), token('sat_2')];
  one.touch(state.nowMs);
  await after(1000);
  for (let second = 0; second < 59; second += 1) {
    one.touch(state.nowMs);
    two.touch(state.nowMs);
    await after(1000);
  }
  assert.deepEqual(writes, [['sat_1.use'], ['sat_2.use']]);
  one.touch(state.nowMs + 5000);
  await after(5000);
  assert.deepEqual(writes.slice(2), [['sat_1.use']]);
});

test('retries a failed write after half a minute, and logs it once', async () => {
  const { state, writes, token, after } = fakes();
  state.isDown = true;
  token('sat_1').touch(state.nowMs);
  for (let second = 0; second < 20; second += 1) await after(1000);
  assert.equal(state.problems, 1);
  state.isDown = false;
  await after(30_000);
  assert.deepEqual(writes, [['sat_1.use']]);
});

test('writes what is left when it closes, and nothing for a deleted token', async () => {
  const { state, writes, uses, token, after } = fakes();
  const [kept, deleted] = [token('sat_1'), token('sat_2')];
  kept.touch(state.nowMs);
  await after(1000);
  kept.touch(state.nowMs);
  deleted.touch(state.nowMs);
  deleted.isDeleted = true;
  await uses.close();
  assert.deepEqual(writes, [['sat_1.use'], ['sat_1.use']]);
});
