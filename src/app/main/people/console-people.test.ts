import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '../../../kit/json.ts';
import { consoleRoles } from './console-people.ts';

const roleOf = consoleRoles([
  'admin=groups:platform',
  'operator=email:ann@example.com',
  'operator=level:7',
  'viewer=team:web:eu',
  'viewer=https://ns.example:8443/groups:web',
  'viewer=realm_access.roles:web',
]);

suite('roles of people in the console', () => {
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
    ['no list of addresses', { email: ['ann@example.com'], email_verified: true }, null],
    ['no address with another one', { email: 'eve@evil.example,ann@example.com', email_verified: true }, null],
    ['a role in an object', { realm_access: { roles: ['web'] } }, 'viewer'],
    ['no part of a value', { groups: 'platform-guests' }, null],
    ['no object', { groups: { platform: true } }, null],
    ['no inherited property', {}, null],
  ];
  for (const [what, claims, role] of CASES) {
    test(`${what} gives ${role ?? 'no role'}`, () => assert.equal(roleOf(claims), role));
  }

  test('an address under another name gives no role', () => {
    for (const claim of ['Email', 'emails', 'user.email', 'preferred_username', 'upn']) {
      const claims = { [claim]: 'ann@example.com', email_verified: true };
      assert.equal(consoleRoles([`admin=${claim}:ann@example.com`])(claims), null, claim);
    }
  });

  test('"*" gives everybody a role', () => {
    assert.equal(consoleRoles(['viewer=*'])({}), 'viewer');
  });
});
