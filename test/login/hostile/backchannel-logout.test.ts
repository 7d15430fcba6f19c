import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import { type Fields, LOGOUT_EVENT } from './hostile-provider.ts';
import { openHostileWorld, refused } from './hostile-world.ts';
import { makeSigningKey } from './signing-key.ts';

const now = (): number => Math.floor(Date.now() / 1000);

interface RefusedCase {
  readonly name: string;
  readonly header?: Fields;
  readonly claims?: () => Fields;
  readonly reason: LoginProblemReason;
}

const REFUSED: readonly RefusedCase[] = [
  { name: 'wrong-iss', claims: () => ({ iss: 'https://evil.example' }), reason: 'logout_token_issuer' },
  { name: 'no-iss', claims: () => ({ iss: undefined }), reason: 'logout_token_issuer' },
  { name: 'wrong-aud', claims: () => ({ aud: 'another-client' }), reason: 'logout_token_audience' },
  { name: 'no-aud', claims: () => ({ aud: undefined }), reason: 'logout_token_audience' },
  { name: 'no-event', claims: () => ({ events: undefined }), reason: 'logout_token_event' },
  { name: 'wrong-event', claims: () => ({ events: { 'https://evil.example/e': {} } }), reason: 'logout_token_event' },
  { name: 'event-no-object', claims: () => ({ events: { [LOGOUT_EVENT]: true } }), reason: 'logout_token_event' },
  { name: 'event-list', claims: () => ({ events: [LOGOUT_EVENT] }), reason: 'logout_token_event' },
  { name: 'with-nonce', claims: () => ({ nonce: 'the-nonce' }), reason: 'logout_token_nonce' },
  { name: 'with-nonce-null', claims: () => ({ nonce: null }), reason: 'logout_token_nonce' },
  { name: 'no-sub-no-sid', claims: () => ({ sub: undefined, sid: undefined }), reason: 'logout_token_subject' },
  { name: 'odd-sid', claims: () => ({ sid: { a: 1 } }), reason: 'logout_token_subject' },
  { name: 'odd-sub', claims: () => ({ sub: 'a\nb' }), reason: 'logout_token_subject' },
  { name: 'no-jti', claims: () => ({ jti: undefined }), reason: 'logout_token_jti' },
  { name: 'odd-jti', claims: () => ({ jti: 7 }), reason: 'logout_token_jti' },
  { name: 'huge-jti', claims: () => ({ jti: 'x'.repeat(256) }), reason: 'logout_token_jti' },
  { name: 'no-iat', claims: () => ({ iat: undefined }), reason: 'logout_token_issued_at' },
  { name: 'old-iat', claims: () => ({ iat: now() - 370, exp: undefined }), reason: 'logout_token_issued_at' },
  { name: 'future-iat', claims: () => ({ iat: now() + 120 }), reason: 'logout_token_issued_at' },
  { name: 'expired', claims: () => ({ iat: now() - 200, exp: now() - 61 }), reason: 'logout_token_expired' },
  { name: 'typ-of-an-access-token', header: { typ: 'at+jwt' }, reason: 'logout_token_type' },
  { name: 'too-long', claims: () => ({ padding: 'x'.repeat(20_000) }), reason: 'logout_token_malformed' },
];

for (const { name, header = {}, claims = () => ({}), reason } of REFUSED) {
  test(`oidcc-client-test-rp-backchannel-logout-${name} is refused`, async (t) => {
    const { client, provider } = await openHostileWorld(t);
    await refused(client.verifyLogoutToken(await provider.logoutToken({ header, claims: claims() })), 'token', reason);
  });
}

test('oidcc-client-test-rp-backchannel-logout is accepted', async (t) => {
  const { client, provider } = await openHostileWorld(t);
  const iat = now() - 290;
  const token = await provider.logoutToken({ claims: { iat, jti: 'jti-1' } });
  assert.deepEqual(await client.verifyLogoutToken(token), {
    sub: 'user-1',
    sid: 'sid-1',
    jti: 'jti-1',
    // 300 s, and the clock tolerance on both sides.
    validUntilMs: (iat + 420) * 1000,
  });
});

test('accepts sub alone, sid alone, several audiences, no exp and every type in use', async (t) => {
  const { client, provider } = await openHostileWorld(t);
  const verify = async (claims: Fields, header: Fields = {}) =>
    client.verifyLogoutToken(await provider.logoutToken({ claims, header }));
  assert.equal((await verify({ sid: undefined })).sid, null);
  assert.equal((await verify({ sub: undefined })).sub, null);
  assert.equal((await verify({ aud: ['another-client', 'client-1'], exp: undefined })).sub, 'user-1');
  for (const typ of [undefined, 'JWT', 'logout+jwt', 'application/logout+jwt']) {
    assert.equal((await verify({}, { typ })).sub, 'user-1', `typ ${typ}`);
  }
});

test('oidcc-client-test-rp-backchannel-logout-wrong-alg and -alg-none are refused', async (t) => {
  const { client, provider } = await openHostileWorld(t);
  const [, payload] = (await provider.logoutToken()).split('.');
  const header = (fields: Fields): string => Buffer.from(JSON.stringify(fields)).toString('base64url');
  await refused(client.verifyLogoutToken(`${header({ alg: 'none' })}.${payload}.`), 'token', 'logout_token_algorithm');
  const signed = `${header({ alg: 'HS256' })}.${payload}`;
  const signature = createHmac('sha256', provider.clientSecret).update(signed).digest('base64url');
  await refused(client.verifyLogoutToken(`${signed}.${signature}`), 'token', 'logout_token_algorithm');
});

test('oidcc-client-test-rp-backchannel-logout-invalid-sig is refused', async (t) => {
  const { client, provider } = await openHostileWorld(t);
  const stranger = await makeSigningKey('RS256');
  const token = await provider.logoutToken({ key: stranger, header: { kid: provider.keys[0]?.kid } });
  await refused(client.verifyLogoutToken(token), 'token', 'logout_token_signature');
});

test('rejects an ID token as a logout token', async (t) => {
  const world = await openHostileWorld(t);
  const { idToken } = await world.login();
  await refused(world.client.verifyLogoutToken(idToken ?? ''), 'token', 'logout_token_event');
});

for (const nonsense of ['', 'x', 'a.b.c', '..', 'e30.e30.', `${'a'.repeat(5)}.${'b'.repeat(5)}.é`]) {
  test(`"${nonsense}" is not a logout token`, async (t) => {
    const { client } = await openHostileWorld(t);
    const problem = await client.verifyLogoutToken(nonsense).then(
      () => null,
      (error: unknown) => error,
    );
    assert.match(String((problem as { reason?: unknown } | null)?.reason), /^logout_token_(malformed|algorithm)$/);
  });
}
