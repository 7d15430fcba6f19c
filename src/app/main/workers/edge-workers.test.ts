import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoginRecord } from '../../../modules/contract/login-store.ts';
import { latestOfEach, UnservedChanges } from './edge-workers.ts';

async function isPending(promise: Promise<void> | null): Promise<boolean> {
  return Promise.race([
    promise?.then(() => false) ?? false,
    new Promise<boolean>((resolve) => setImmediate(resolve, true)),
  ]);
}

test('a change is served when every worker serves it, or has ended', async () => {
  const unserved = new UnservedChanges<string>();
  const number = unserved.add(new Set([7]), ['one', 'two']);
  const served = unserved.of(7);
  assert.equal(unserved.of(8), null);
  unserved.served('one', number);
  unserved.served('one', number);
  assert(await isPending(served));
  unserved.ended('two');
  await served;
  assert.equal(unserved.of(7), null);
});

test('a later change that is served first does not answer for an earlier one', async () => {
  const unserved = new UnservedChanges<string>();
  const large = unserved.add(new Set([7]), ['one']);
  const small = unserved.add(new Set([8]), ['one']);
  unserved.served('one', small);
  assert.equal(unserved.of(8), null);
  assert(await isPending(unserved.of(7)));
  unserved.served('one', large);
  assert.equal(unserved.of(7), null);
});

test('nobody waits without workers', () => {
  const unserved = new UnservedChanges<string>();
  unserved.add(new Set([7]), []);
  assert.equal(unserved.of(7), null);
});

test('keeps the last version and the last use of each login, whichever threads know them', () => {
  const record = (id: string, version: number, lastActiveMs: number): LoginRecord =>
    ({ id, version, lastActiveMs }) as LoginRecord;
  const records = [record('a', 2, 10), record('b', 1, 5), record('a', 1, 30), record('a', 3, 20)];
  for (const order of [records, records.toReversed()])
    assert.deepEqual(
      latestOfEach(order).toSorted((one, other) => one.id.localeCompare(other.id)),
      [record('a', 3, 30), record('b', 1, 5)],
    );
});
