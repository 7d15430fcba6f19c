import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHostileWorld, refused } from './hostile-world.ts';
import { makeSigningKey } from './signing-key.ts';

const known = (refreshToken: string, subject: string) => ({ refreshToken, subject, idToken: null, nonce: null });

test('a refresh returns new tokens, and the refresh token to use next', async (t) => {
  const world = await openHostileWorld(t);
  const rotated = await world.client.refresh(known('refresh-old', 'user-1'));
  assert.match(rotated.accessToken, /^access-/);
  assert.match(rotated.refreshToken, /^refresh-(?!old)/);
  assert.equal(rotated.accessExpiresInSeconds, 300);
  assert.equal(rotated.claims?.['email'], 'ada@example.com');
  assert.equal(rotated.unconfirmed, null);
  assert.equal(world.provider.tokenRequests[0]?.body.get('refresh_token'), 'refresh-old');
  assert.match(world.provider.tokenRequests[0]?.authorization ?? '', /^Basic /);

  world.provider.bend = { tokenAnswer: (answer) => ({ ...answer, refresh_token: undefined, id_token: undefined }) };
  const kept = await world.client.refresh(known('refresh-old', 'user-1'));
  assert.equal(kept.refreshToken, 'refresh-old');
  assert.equal(kept.idToken, null);
  assert.equal(kept.claims?.['name'], 'Ada', 'from userinfo: no ID token has said it');
});

test('rejects an ID token about another user', async (t) => {
  const world = await openHostileWorld(t);
  await refused(world.client.refresh(known('refresh-old', 'user-2')), 'token', 'id_token_subject');
});

test('rejects an ID token for another client, or signed by another key', async (t) => {
  const world = await openHostileWorld(t, { idTokenClaims: (claims) => ({ ...claims, aud: 'another-client' }) });
  await refused(world.client.refresh(known('refresh-old', 'user-1')), 'token', 'id_token_audience');
  const stranger = await makeSigningKey('RS256');
  world.provider.bend = { signIdToken: (header, claims, provider) => provider.sign(header, claims, stranger) };
  await refused(world.client.refresh(known('refresh-old', 'user-1')), 'token', 'id_token_signature');
});

test('invalid_grant is a separate kind, and the token is not in the message', async (t) => {
  const world = await openHostileWorld(t, {
    answer: (endpoint, _request, response) => {
      if (endpoint !== 'token') return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'invalid_grant', error_description: 'opaque-1234 was revoked' }));
      return true;
    },
  });
  await refused(world.client.refresh(known('opaque-1234', 'user-1')), 'invalid_grant', 'invalid_grant', [
    'opaque-1234',
  ]);
});

test('a stopped provider is unreachable, not invalid_grant', async (t) => {
  const world = await openHostileWorld(t);
  await world.login();
  world.provider.bend = { answer: (_endpoint, _request, response) => response.destroy().destroyed };
  await refused(world.client.refresh(known('refresh-old', 'user-1')), 'unreachable', 'unreachable');
});
