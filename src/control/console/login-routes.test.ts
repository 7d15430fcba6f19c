import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '../../kit/json.ts';
import { personName } from './login-routes.ts';

suite('the name of a person in the history', () => {
  const BOSS = 'boss@example.com';
  const CASES: readonly (readonly [string, JsonObject, string])[] = [
    ['a verified address', { email: BOSS, email_verified: true, name: 'Ann' }, BOSS],
    ['an unverified address', { email: BOSS }, 'subject s1'],
    ['the address of another person as name', { name: BOSS }, `unverified "${BOSS}" (subject s1)`],
    [
      'the name beside an empty address',
      { email: '', email_verified: true, name: 'Ann' },
      'unverified "Ann" (subject s1)',
    ],
    [
      'a name that ends the quote',
      { name: 'x" (subject admin)\u202e\n' },
      'unverified "x (subject admin)" (subject s1)',
    ],
    ['a name that is too long', { name: 'x'.repeat(1000) }, `unverified "${'x'.repeat(100)}" (subject s1)`],
    ['no text', { name: 7 }, 'subject s1'],
  ];
  for (const [what, claims, name] of CASES) {
    test(`is marked unless the provider verified it: ${what}`, () => assert.equal(personName(claims, 's1'), name));
  }
});
