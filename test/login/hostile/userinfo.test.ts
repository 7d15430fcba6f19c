import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import type { Bend, Fields, HostileProvider } from './hostile-provider.ts';
import { type HostileWorld, openHostileWorld, refused } from './hostile-world.ts';
import { makeSigningKey } from './signing-key.ts';

const WITHOUT_EMAIL: Bend = { idTokenClaims: (claims) => ({ ...claims, email: undefined, name: 'Ada, signed' }) };

test('userinfo completes the ID token, and overrides nothing', async (t) => {
  const world = await openHostileWorld(t, {
    ...WITHOUT_EMAIL,
    userinfo: (claims) => ({ ...claims, name: 'Eve', nonce: 'x', aud: 'y' }),
  });
  const { claims } = await world.login();
  assert.deepEqual(claims, { sub: 'user-1', email: 'ada@example.com', email_verified: true, name: 'Ada, signed' });
});

test('requests userinfo only for scopes whose claims are missing', async (t) => {
  const world = await openHostileWorld(t, WITHOUT_EMAIL);
  await world.login(world.clientWith({ scopes: ['profile', 'address'] }));
  assert.ok(!world.provider.requests.includes('userinfo'));
  world.provider.bend = { idTokenClaims: (claims) => ({ ...claims, name: undefined }) };
  assert.equal((await world.login(world.clientWith({ scopes: ['profile'] }))).claims['name'], 'Ada');
});

test('uses the ID token alone without a userinfo endpoint', async (t) => {
  const world = await openHostileWorld(t, {
    ...WITHOUT_EMAIL,
    discovery: (document) => ({ ...document, userinfo_endpoint: undefined }),
  });
  assert.equal((await world.login()).claims['email'], undefined);
});

for (const [name, sub] of [
  ['invalid-sub', 'user-2'],
  ['missing-sub', undefined],
  ['a sub that only looks alike', ['user-1']],
] as const) {
  test(`oidcc-client-test-userinfo-${name} is refused`, async (t) => {
    const world = await openHostileWorld(t, { ...WITHOUT_EMAIL, userinfo: (claims) => ({ ...claims, sub }) });
    await refused(world.login(), 'token', 'userinfo_subject');
  });
}

test('oidcc-client-test-userinfo-signed is accepted', async (t) => {
  const world = await openHostileWorld(t);
  world.provider.bend = signedUserinfo(world, () => ({}));
  assert.equal((await world.login()).claims['email'], 'ada@example.com');
});

const SIGNED: readonly (readonly [string, (provider: HostileProvider) => Fields, LoginProblemReason])[] = [
  ['another issuer', () => ({ iss: 'https://evil.example' }), 'userinfo_issuer'],
  ['another audience', () => ({ aud: ['another-client'] }), 'userinfo_audience'],
  ['another sub', () => ({ sub: 'user-2' }), 'userinfo_subject'],
  ['an end in the past', () => ({ exp: 1 }), 'userinfo_expired'],
];

for (const [name, bent, reason] of SIGNED) {
  test(`rejects signed userinfo with ${name}`, async (t) => {
    const world = await openHostileWorld(t);
    world.provider.bend = signedUserinfo(world, bent);
    await refused(world.login(), 'token', reason);
  });
}

test('rejects userinfo signed by another key', async (t) => {
  const world = await openHostileWorld(t);
  const stranger = await makeSigningKey('ES256');
  const token = await world.provider.sign({ kid: stranger.kid }, { ...world.provider.user }, stranger);
  world.provider.bend = { ...WITHOUT_EMAIL, ...answerUserinfo(async () => token) };
  await refused(world.login(), 'token', 'userinfo_key');
});

function signedUserinfo(world: HostileWorld, bent: (provider: HostileProvider) => Fields): Bend {
  const { provider } = world;
  const claims = { ...provider.user, iss: provider.issuer, aud: provider.clientId, ...bent(provider) };
  return { ...WITHOUT_EMAIL, ...answerUserinfo(() => provider.sign({ kid: provider.keys[0]?.kid }, claims)) };
}

function answerUserinfo(token: () => Promise<string>): Bend {
  return {
    answer: (endpoint, _request, response) => {
      if (endpoint !== 'userinfo') return false;
      void token().then((body) => response.writeHead(200, { 'content-type': 'application/jwt' }).end(body));
      return true;
    },
  };
}
