import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseRoleRule } from './role-rules.ts';

suite('rules for roles', () => {
  for (const text of [
    '',
    'admin',
    'root=groups:x',
    'admin=groups',
    'admin=:x',
    'admin=groups:',
    'admin:groups=x',
    'admin=https://ns/groups',
  ]) {
    test(`"${text}" is not a rule`, () => assert.equal(parseRoleRule(text), null));
  }
});
