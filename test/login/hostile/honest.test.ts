import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHostileWorld } from './hostile-world.ts';

test('oidcc-client-test: a correct login gives subject, claims and tokens', async (t) => {
  const world = await openHostileWorld(t);
  const tokens = await world.login();
  assert.equal(tokens.subject, 'user-1');
  assert.deepEqual(tokens.claims, { sub: 'user-1', email: 'ada@example.com', email_verified: true, name: 'Ada' });
  assert.equal(tokens.sid, 'sid-1');
  assert.match(tokens.accessToken ?? '', /^access-/);
  assert.match(tokens.refreshToken ?? '', /^refresh-/);
  assert.equal(tokens.accessExpiresInSeconds, 300);
  assert.deepEqual(tokens.grantedScopes, ['openid', 'email']);
  assert.ok(!world.provider.requests.includes('userinfo'));
});
