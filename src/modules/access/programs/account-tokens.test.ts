import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashToken } from '../../../kit/text/secrets.ts';
import type { FollowedKey, FollowedRecord, FollowedRecords, OwnRecordPut } from '../../contract/keeps-state.ts';
import { ACCOUNT_KIND, TOKEN_KIND } from '../../service-account-records.ts';
import { AccountToken, AccountTokens, ServiceAccount, TokenUses } from './account-tokens.ts';

const TEXT = `pst_${'a'.repeat(43)}`;
const LINE = `Bearer ${TEXT}`;

/** One active account with one token, in records that the test changes. */
function world() {
  const docs = new Map<string, object>([
    ['sa_1', { name: 'ci', active: true }],
    ['sat_1', tokenDoc()],
  ]);
  let notify = (_changed: readonly FollowedKey[]): void => {};
  const records = {
    isCurrent: () => true,
    all: (kind: string) => [{ id: kind === ACCOUNT_KIND ? 'sa_1' : 'sat_1' }],
    get: (_kind: string, id: string) => docs.has(id) && { doc: docs.get(id) },
    onChange: (listener: typeof notify) => {
      notify = listener;
      return () => {};
    },
  } as unknown as FollowedRecords;
  const tokens = new AccountTokens(records, () => {});
  const change = (kind: string, id: string, doc: object | null): void => {
    if (doc === null) docs.delete(id);
    else docs.set(id, doc);
    notify([{ kind, id }]);
  };
  const token = tokens.find(TEXT);
  assert.ok(token !== undefined);
  tokens.remember(LINE, token);
  assert.equal(tokens.knownByLine(LINE), token);
  return { tokens, token, change };
}

function tokenDoc(expiresAt = '2030-01-01T00:00:00Z') {
  return { service_account_id: 'sa_1', expires_at: expiresAt, internal: { token_hash: hashToken(TEXT) } };
}

test('a remembered line lives no longer than its token', () => {
  const { tokens, token, change } = world();
  change(TOKEN_KIND, 'sat_1', null);
  assert.deepEqual([tokens.knownByLine(LINE), tokens.find(TEXT), token.state(0)], [undefined, undefined, 'deleted']);
  change(TOKEN_KIND, 'sat_2', tokenDoc());
  const second = tokens.find(TEXT);
  assert.deepEqual([tokens.knownByLine(LINE), second?.id, second?.state(0)], [undefined, 'sat_2', 'valid']);
});

test('what a remembered line finds is inactive or expired as soon as its account or token is', () => {
  const { tokens, token, change } = world();
  change(ACCOUNT_KIND, 'sa_1', { name: 'ci', active: false });
  tokens.remember(LINE, token);
  assert.equal(tokens.knownByLine(LINE)?.state(0), 'inactive');
  change(ACCOUNT_KIND, 'sa_1', { name: 'ci', active: true });
  change(TOKEN_KIND, 'sat_1', tokenDoc('2026-01-01T00:00:00Z'));
  tokens.remember(LINE, token);
  assert.equal(tokens.knownByLine(LINE)?.state(Date.parse('2026-01-01T00:00:00Z')), 'expired');
});

test('remembers a bounded number of lines, and no long ones', () => {
  const { tokens, token } = world();
  const long = `Bearer ${' '.repeat(300)}${TEXT}`;
  tokens.remember(long, token);
  assert.equal(tokens.knownByLine(long), undefined);
  for (let spaces = 1; spaces <= 1000; spaces += 1) tokens.remember(`${LINE}-${spaces}`, token);
  assert.equal(tokens.knownByLine(LINE), undefined);
});

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
