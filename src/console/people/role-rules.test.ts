import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '../../lib/json.ts';
import { parseRoleRule, type RoleRule, roleOf } from './role-rules.ts';

const RULES = [
  'admin=groups:platform',
  'operator=email:ann@example.com',
  'operator=level:7',
  'viewer=team:web:eu',
  'viewer=https://ns.example:8443/groups:web',
].map((text) => parseRoleRule(text) as RoleRule);

suite('rules for roles', () => {
  const CASES: readonly (readonly [string, JsonObject, string | null])[] = [
    ['a value in a list', { groups: ['web', 'platform'] }, 'admin'],
    ['the highest of several', { groups: ['platform'], email: 'ann@example.com', email_verified: true }, 'admin'],
    ['a verified address, in any case', { email: 'Ann@Example.com', email_verified: true }, 'operator'],
    ['a number', { level: 7 }, 'operator'],
    ['a value with a colon', { team: 'web:eu' }, 'viewer'],
    ['a claim whose name is a URL', { 'https://ns.example:8443/groups': ['web'] }, 'viewer'],
    ['no claim with the scheme of a URL as name', { https: '//ns.example:8443/groups:web' }, null],
    ['no unverified address', { email: 'ann@example.com' }, null],
    ['no address that the provider denies', { email: 'ann@example.com', email_verified: false }, null],
    ['no part of a value', { groups: 'platform-guests' }, null],
    ['no object', { groups: { platform: true } }, null],
    ['no inherited property', {}, null],
  ];
  for (const [what, claims, role] of CASES) {
    test(`${what} gives ${role ?? 'no role'}`, () => assert.equal(roleOf(claims, RULES), role));
  }

  test('"*" gives everybody a role', () => {
    assert.equal(roleOf({}, [parseRoleRule('viewer=*') as RoleRule]), 'viewer');
  });

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
