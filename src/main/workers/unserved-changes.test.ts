import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnservedChanges } from './unserved-changes.ts';

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
