import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantClaims } from './user-fields.ts';

const groups = (count: number) => Array.from({ length: count }, (_, at) => `group-${String(at).padStart(5, '0')}`);

test('a login keeps a thousand groups for access rules', () => {
  const { claims, dropped_claims: dropped } = grantClaims({ sub: 's', groups: groups(1000) });
  assert.equal((claims['groups'] as readonly string[]).length, 1000);
  assert.deepEqual(dropped, []);
});

test('a claim that is too large to keep is dropped whole, and its name is known', () => {
  const { claims, dropped_claims: dropped } = grantClaims({ sub: 's', groups: groups(10_000), role: 'ops' });
  assert.deepEqual(claims, { sub: 's', role: 'ops' });
  assert.deepEqual(dropped, ['groups']);
});

test('of more claims than names can be remembered, any may have been dropped', () => {
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`claim-${at}`, 'x']));
  assert.deepEqual(grantClaims(many).dropped_claims, ['*']);
  const long = { sub: 's', ['n'.repeat(70_000)]: 'x' };
  assert.deepEqual(grantClaims(long).dropped_claims, ['*']);
});
