import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HostileWorld, openHostileWorld, refused } from './hostile-world.ts';
import { makeSigningKey } from './signing-key.ts';

const keyFetches = (world: HostileWorld): number => world.provider.requests.filter((name) => name === 'jwks').length;

test('oidcc-client-test-kid-absent-single-jwks is accepted', async (t) => {
  const world = await openHostileWorld(t, {
    idTokenHeader: (header) => ({ ...header, kid: undefined }),
    jwks: (keys) => keys.map((key) => ({ ...key, kid: undefined })),
  });
  assert.equal((await world.login()).subject, 'user-1');
});

test('oidcc-client-test-kid-absent-multiple-jwks is refused', async (t) => {
  const world = await openHostileWorld(t, { idTokenHeader: (header) => ({ ...header, kid: undefined }) });
  world.provider.keys.push(await makeSigningKey('RS256'));
  await refused(world.login(), 'token', 'id_token_key');
});

test('without kid, keys of other kinds and uses do not make it ambiguous', async (t) => {
  const world = await openHostileWorld(t, {
    idTokenHeader: (header) => ({ ...header, kid: undefined }),
    jwks: (keys) => [...keys, ...keys.map((key) => ({ ...key, use: 'enc' }))],
  });
  world.provider.keys.push(await makeSigningKey('ES256'));
  assert.equal((await world.login()).subject, 'user-1');
});

test('oidcc-client-test-signing-key-rotation is accepted at once', async (t) => {
  const world = await openHostileWorld(t);
  await world.login();
  await world.provider.rotateKeys();
  assert.equal((await world.login()).subject, 'user-1');
  assert.equal(keyFetches(world), 2);
  await world.login();
  assert.equal(keyFetches(world), 2);
});

test('oidcc-client-test-signing-key-rotation, with the same kid or none', async (t) => {
  const world = await openHostileWorld(t, {
    idTokenHeader: (header) => ({ ...header, kid: 'always-the-same' }),
    jwks: (keys) => keys.map((key) => ({ ...key, kid: 'always-the-same' })),
  });
  await world.login();
  await world.provider.rotateKeys('RS256');
  assert.equal((await world.login()).subject, 'user-1');
});

test('a flood of unknown kids fetches the keys once per five seconds', async (t) => {
  const world = await openHostileWorld(t);
  await world.login();
  const stranger = await makeSigningKey('ES256');
  const forged = await world.provider.logoutToken({ key: stranger });
  const flood = () =>
    Promise.all(
      Array.from({ length: 50 }, () => refused(world.client.verifyLogoutToken(forged), 'token', 'logout_token_key')),
    );
  await flood();
  await flood();
  assert.equal(keyFetches(world), 2);
  world.clock.offsetMs += 5_000;
  await flood();
  assert.equal(keyFetches(world), 3);
});

test('fetches unavailable keys once per five seconds, and recovers without a restart', async (t) => {
  const world = await openHostileWorld(t, {
    answer: (endpoint, _request, response) => {
      if (endpoint === 'jwks') response.writeHead(503).end();
      return endpoint === 'jwks';
    },
  });
  await refused(world.login(), 'unreachable', 'unexpected_status');
  await refused(world.login(), 'unreachable', 'unexpected_status');
  assert.equal(keyFetches(world), 1);
  world.provider.bend = {};
  world.clock.offsetMs += 5_000;
  assert.equal((await world.login()).subject, 'user-1');
});

test('forgets withdrawn keys within ten minutes of use, and after an hour even when new ones are unavailable', async (t) => {
  const world = await openHostileWorld(t);
  await world.login();
  world.provider.bend = {
    answer: (endpoint, _request, response) => endpoint === 'jwks' && response.destroy().destroyed,
  };
  world.provider.nowSeconds = () => Math.floor(world.clock.nowMs() / 1000);
  world.clock.offsetMs += 30 * 60_000;
  assert.equal((await world.login()).subject, 'user-1', 'known keys go on while the provider cannot be asked');
  world.clock.offsetMs += 31 * 60_000;
  await refused(world.login(), 'unreachable', 'unreachable');
});

test('rejects an RSA key that is too short', async (t) => {
  const world = await openHostileWorld(t);
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    true,
    ['sign', 'verify'],
  );
  const publicJwk = { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'short' };
  world.provider.keys = [{ kid: 'short', alg: 'RS256', privateKey, publicJwk: publicJwk as { kty: string } }];
  world.provider.bend = {
    signIdToken: async (header, claims) => {
      const part = (fields: object): string => Buffer.from(JSON.stringify(fields)).toString('base64url');
      const signed = `${part(header)}.${part(claims)}`;
      const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(signed));
      return `${signed}.${Buffer.from(signature).toString('base64url')}`;
    },
  };
  await refused(world.login(), 'token', 'id_token_key');
});

for (const [name, jwks] of [
  ['a list', '[]'],
  ['no keys', '{}'],
  ['keys that are no objects', '{"keys":[1]}'],
  ['HTML', '<html>'],
] as const) {
  test(`rejects a key set that is ${name}`, async (t) => {
    const world = await openHostileWorld(t, {
      answer: (endpoint, _request, response) => {
        if (endpoint === 'jwks') response.writeHead(200, { 'content-type': 'application/json' }).end(jwks);
        return endpoint === 'jwks';
      },
    });
    await refused(world.login(), 'provider', 'malformed_answer');
  });
}
