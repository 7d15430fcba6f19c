import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resources } from '../resources/registry.ts';
import { scopesOf } from '../resources/scopes.ts';
import { parseRoleRule, scopesOfRole } from './roles.ts';

suite('the role operator', () => {
  const scopes = scopesOfRole('operator', scopesOf(resources));
  const writable = (path: string): boolean => scopes.includes(`${path.split('/')[1]}:write`);

  test('writes no resource whose responses contain a token or a link', () => {
    const granting = resources.filter((each) => each.type === 'configuration' && each.shownOnce !== undefined);
    assert.deepEqual(granting.map(({ name }) => name).sort(), [
      'agent_invitations',
      'api_keys',
      'credentials',
      'guest_links',
      'oidc_clients',
      'service_account_tokens',
      'user_accounts',
    ]);
    assert.deepEqual(
      granting.filter(({ path }) => writable(path)),
      [],
    );
  });

  test('writes neither service accounts nor sessions of the console nor people, and no secret is readable', () => {
    for (const path of ['/service_accounts', '/console/sessions', '/user_accounts', '/oidc_clients'])
      assert.equal(writable(path), false, path);
    assert.ok(!scopes.includes('secrets:read') && !scopes.includes('*'));
  });

  test('writes edges, routes and backends', () => {
    for (const path of ['/edges', '/backends', '/ip_policies']) assert.equal(writable(path), true, path);
  });
});

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
