import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { exportSPKI, importJWK } from 'jose';
import type { LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import type { Bend, Fields, HostileProvider } from './hostile-provider.ts';
import { openHostileWorld, refused } from './hostile-world.ts';
import { makeSigningKey } from './signing-key.ts';

interface RefusedCase {
  readonly name: string;
  readonly bend: Bend;
  readonly reason: LoginProblemReason;
}

const now = (): number => Math.floor(Date.now() / 1000);
const claims = (bent: (honest: Fields) => Fields): Bend => ({
  idTokenClaims: (honest) => ({ ...honest, ...bent(honest) }),
});

const REFUSED: readonly RefusedCase[] = [
  { name: 'invalid-iss', bend: claims(() => ({ iss: 'https://evil.example' })), reason: 'id_token_issuer' },
  {
    name: 'invalid-iss, a slash more',
    bend: claims(({ iss }) => ({ iss: `${String(iss)}/` })),
    reason: 'id_token_issuer',
  },
  { name: 'missing-iss', bend: claims(() => ({ iss: undefined })), reason: 'id_token_issuer' },
  { name: 'invalid-aud', bend: claims(() => ({ aud: 'another-client' })), reason: 'id_token_audience' },
  { name: 'invalid-aud, a list', bend: claims(() => ({ aud: ['another-client'] })), reason: 'id_token_audience' },
  { name: 'missing-aud', bend: claims(() => ({ aud: undefined })), reason: 'id_token_audience' },
  {
    name: 'multiple-aud without azp',
    bend: claims(({ aud }) => ({ aud: [aud, 'another-client'] })),
    reason: 'id_token_audience',
  },
  {
    name: 'multiple-aud, invalid-azp',
    bend: claims(({ aud }) => ({ aud: [aud, 'another-client'], azp: 'another-client' })),
    reason: 'id_token_authorized_party',
  },
  { name: 'invalid-azp', bend: claims(() => ({ azp: 'another-client' })), reason: 'id_token_authorized_party' },
  { name: 'missing-sub', bend: claims(() => ({ sub: undefined })), reason: 'id_token_subject' },
  { name: 'empty sub', bend: claims(() => ({ sub: '' })), reason: 'id_token_subject' },
  { name: 'sub that is a number', bend: claims(() => ({ sub: 7 })), reason: 'id_token_subject' },
  { name: 'sub of 256 characters', bend: claims(() => ({ sub: 'x'.repeat(256) })), reason: 'id_token_subject' },
  { name: 'sub with a line break', bend: claims(() => ({ sub: 'a\r\nb' })), reason: 'id_token_subject' },
  { name: 'sub beyond ASCII', bend: claims(() => ({ sub: 'ä' })), reason: 'id_token_subject' },
  { name: 'missing-iat', bend: claims(() => ({ iat: undefined })), reason: 'id_token_issued_at' },
  { name: 'iat in the future', bend: claims(() => ({ iat: now() + 120 })), reason: 'id_token_issued_at' },
  { name: 'missing-exp', bend: claims(() => ({ exp: undefined })), reason: 'id_token_expired' },
  { name: 'expired', bend: claims(() => ({ exp: now() - 61 })), reason: 'id_token_expired' },
  { name: 'not yet valid', bend: claims(() => ({ nbf: now() + 120 })), reason: 'id_token_not_before' },
  { name: 'nonce-invalid', bend: claims(() => ({ nonce: 'another-nonce' })), reason: 'id_token_nonce' },
  { name: 'missing-nonce', bend: claims(() => ({ nonce: undefined })), reason: 'id_token_nonce' },
  { name: 'invalid-sig-rs256', bend: { signIdToken: spoiled('RS256') }, reason: 'id_token_signature' },
  { name: 'invalid-sig-es256', bend: { signIdToken: spoiled('ES256') }, reason: 'id_token_signature' },
  { name: 'signed with a key of nobody', bend: { signIdToken: stranger }, reason: 'id_token_key' },
  {
    name: 'signed with the kid of another key',
    bend: { signIdToken: strangerWithKnownKid },
    reason: 'id_token_signature',
  },
  { name: 'invalid-sig-hs256 with the public key', bend: { signIdToken: confused }, reason: 'id_token_algorithm' },
  { name: 'idtoken-sig-none', bend: { signIdToken: unsigned }, reason: 'id_token_algorithm' },
  { name: 'a key in the header', bend: { signIdToken: broughtAlong }, reason: 'id_token_signature' },
  { name: 'an unknown crit', bend: { signIdToken: critical }, reason: 'id_token_malformed' },
  {
    name: 'no ID token',
    bend: { tokenAnswer: (answer) => ({ ...answer, id_token: undefined }) },
    reason: 'id_token_missing',
  },
  {
    name: 'an ID token that is none',
    bend: { signIdToken: () => 'eyJhbGciOiJSUzI1NiJ9.x' },
    reason: 'id_token_malformed',
  },
  { name: 'an encrypted ID token', bend: { signIdToken: () => 'e30.a.b.c.d' }, reason: 'id_token_malformed' },
];

for (const { name, bend, reason } of REFUSED) {
  test(`oidcc-client-test-${name} is refused`, async (t) => {
    const world = await openHostileWorld(t, bend);
    await refused(world.login(), 'token', reason);
  });
}

test('ES256, EdDSA and PS256 are accepted', async (t) => {
  const world = await openHostileWorld(t, {
    discovery: (document) => ({ ...document, id_token_signing_alg_values_supported: undefined }),
  });
  for (const alg of ['ES256', 'EdDSA', 'PS256']) {
    await world.provider.rotateKeys(alg);
    world.clock.offsetMs += 6_000;
    assert.equal((await world.login()).subject, 'user-1', alg);
  }
});

test('rejects an algorithm that the provider did not announce', async (t) => {
  const world = await openHostileWorld(t, {
    discovery: (document) => ({ ...document, id_token_signing_alg_values_supported: ['RS256'] }),
  });
  await world.provider.rotateKeys('ES256');
  await refused(world.login(), 'token', 'id_token_algorithm');
});

test('clocks may differ by a minute', async (t) => {
  const world = await openHostileWorld(
    t,
    claims(() => ({ iat: now() + 55, exp: now() - 55 })),
  );
  assert.equal((await world.login()).subject, 'user-1');
});

test("uses the given clock, not the machine's", async (t) => {
  const world = await openHostileWorld(t);
  world.clock.offsetMs = 3_600_000;
  await refused(world.login(), 'token', 'id_token_expired');
  world.clock.offsetMs = -3_600_000;
  await refused(world.login(), 'token', 'id_token_issued_at');
  world.provider.nowSeconds = () => Math.floor(world.clock.nowMs() / 1000);
  assert.equal((await world.login()).subject, 'user-1', 'both are an hour behind the machine');
});

test('several audiences with azp naming this client are accepted', async (t) => {
  const world = await openHostileWorld(
    t,
    claims(({ aud }) => ({ aud: [aud, 'another-client'], azp: aud })),
  );
  assert.equal((await world.login()).subject, 'user-1');
});

test('a sub of 255 characters with spaces is accepted', async (t) => {
  const sub = `auth0|a b${'~'.repeat(246)}`;
  const world = await openHostileWorld(
    t,
    claims(() => ({ sub })),
  );
  assert.equal((await world.login()).subject, sub);
});

/** Signs with a published key of the algorithm, then flips a bit of the signature. */
function spoiled(alg: string) {
  return async (header: Fields, payload: Fields, provider: HostileProvider): Promise<string> => {
    if (alg !== header['alg']) await provider.rotateKeys(alg);
    const [key] = provider.keys;
    const token = await provider.sign({ ...header, alg, kid: key?.kid }, payload);
    const signature = Buffer.from(token.split('.')[2] ?? '', 'base64url');
    signature[20] = (signature[20] ?? 0) ^ 1;
    return [...token.split('.').slice(0, 2), signature.toString('base64url')].join('.');
  };
}

async function stranger(header: Fields, payload: Fields, provider: HostileProvider): Promise<string> {
  const key = await makeSigningKey('ES256');
  return provider.sign({ ...header, alg: 'ES256', kid: key.kid }, payload, key);
}

async function strangerWithKnownKid(header: Fields, payload: Fields, provider: HostileProvider): Promise<string> {
  return provider.sign(header, payload, await makeSigningKey('RS256'));
}

/** The classic confusion: a verifier that lets the token pick the algorithm uses the public key as a shared secret. */
async function confused(header: Fields, payload: Fields, provider: HostileProvider): Promise<string> {
  const [key] = provider.keys;
  const publicKey = await importJWK(key?.publicJwk ?? {}, 'RS256', { extractable: true });
  const signed = `${encoded({ ...header, alg: 'HS256' })}.${encoded(payload)}`;
  const pem = await exportSPKI(publicKey as CryptoKey);
  return `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`;
}

function unsigned(header: Fields, payload: Fields): string {
  return `${encoded({ ...header, alg: 'none', kid: undefined })}.${encoded(payload)}.`;
}

async function broughtAlong(header: Fields, payload: Fields, provider: HostileProvider): Promise<string> {
  const own = await makeSigningKey('RS256');
  return provider.sign({ ...header, jwk: own.publicJwk, jku: `${provider.issuer}/evil` }, payload, own);
}

function critical(header: Fields, payload: Fields): string {
  return `${encoded({ ...header, crit: ['exp'] })}.${encoded(payload)}.AAAA`;
}

function encoded(fields: Fields): string {
  return Buffer.from(JSON.stringify(fields)).toString('base64url');
}
