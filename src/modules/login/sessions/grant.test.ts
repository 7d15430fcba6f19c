import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { TrafficRequest } from '../../contract/decides.ts';
import type { LoginRecord } from '../../contract/login-store.ts';
import { AssertionSigner } from '../assertion-signer.ts';
import { Grant, GUEST_ISSUER, grantClaims, UpstreamIdentity } from './grant.ts';

const CREATED = '2026-01-01T00:00:00Z';
const CREATED_MS = Date.parse(CREATED);
const NO_LIMITS = { inactivitySeconds: 0, maximumSeconds: 0 };

function grant(issuer: string, doc: object = {}): Grant {
  return new Grant({
    id: 'as_1',
    userId: 'au_1',
    keyHash: '',
    edgeId: 'edghts_1',
    issuer,
    clientId: 'gl_1',
    providerSessionId: null,
    lastActiveMs: CREATED_MS,
    expiresAtMs: 0,
    version: 1,
    doc: { created_at: CREATED, subject: 's', email: '', name: '', claims: {}, scopes: [], ...doc },
    secrets: null,
  });
}

test('a login with an end of its own is over at that time, whatever the limits are', () => {
  const guest = grant(GUEST_ISSUER, { ends_at_ms: CREATED_MS + 60_000 });
  assert.equal(guest.isWithin(NO_LIMITS, CREATED_MS + 59_999), true);
  assert.equal(guest.isWithin(NO_LIMITS, CREATED_MS + 60_000), false);
  assert.equal(guest.expiresAtMs(NO_LIMITS), CREATED_MS + 60_000);
  assert.equal(guest.expiresAtMs({ ...NO_LIMITS, maximumSeconds: 10 }), CREATED_MS + 10_000);
  assert.equal(grant('https://idp.example').expiresAtMs(NO_LIMITS), 0);
});

test('a guest is known by the link, a user by the user record', () => {
  assert.deepEqual(pick(grant(GUEST_ISSUER)), ['guest', 'gl_1']);
  assert.deepEqual(pick(grant('https://idp.example')), ['user', 'au_1']);
});

function pick({ holder }: Grant): readonly string[] {
  return [holder.kind, holder.id];
}

const groups = (count: number) => Array.from({ length: count }, (_, at) => `group-${String(at).padStart(5, '0')}`);

test('a login keeps a thousand groups for access rules', () => {
  const { claims, dropped_claims: dropped } = grantClaims({ sub: 's', groups: groups(1000) });
  assert.equal((claims['groups'] as readonly string[]).length, 1000);
  assert.deepEqual(dropped, []);
});

test('a claim that is too large to keep is dropped whole, and its name is known', () => {
  const { claims, dropped_claims: dropped } = grantClaims({ sub: 's', groups: groups(10_000), role: 'ops' });
  assert.deepEqual(claims, { sub: 's', role: 'ops' });
  assert.deepEqual(dropped, ['groups']);
});

test('of more claims than names can be remembered, any may have been dropped', () => {
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`claim-${at}`, 'x']));
  assert.deepEqual(grantClaims(many).dropped_claims, ['*']);
  const long = { sub: 's', ['n'.repeat(70_000)]: 'x' };
  assert.deepEqual(grantClaims(long).dropped_claims, ['*']);
});

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = {
  id: 'key-1',
  createdAtMs: 0,
  privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
};
const identity = new UpstreamIdentity(
  new AssertionSigner({ list: () => [key], add: () => Promise.resolve(), remove: () => Promise.resolve() }),
  () => false,
);
const NOW_MS = Date.parse('2026-11-15T10:00:00Z');
const at = (nowMs: number) => ({ nowMs }) as TrafficRequest;

function record(name: string): LoginRecord {
  const doc = {
    public_url: 'https://app.example',
    created_at: '2026-11-15T09:00:00Z',
    host: 'app.example',
    scopes: [],
    subject: 's',
    email: '',
    name,
    claims: { name },
  };
  return {
    id: 'as_1',
    userId: 'au_1',
    keyHash: 'k',
    edgeId: 'e',
    issuer: 'https://provider.example',
    clientId: 'c',
    providerSessionId: null,
    lastActiveMs: NOW_MS,
    expiresAtMs: 0,
    version: 1,
    doc,
    secrets: null,
  };
}

const nameIn = (headers: readonly string[]): string | undefined =>
  headers[headers.indexOf('postern-auth-user-name') + 1];

test('returns the same list while its content is the same, and a new one after a minute', () => {
  const grant = new Grant(record('Ann'));
  const first = identity.headersFor(grant, at(NOW_MS));
  assert.equal(identity.headersFor(grant, at(NOW_MS + 59_999)), first);
  const later = identity.headersFor(grant, at(NOW_MS + 60_000));
  assert.notEqual(later, first);
  assert.deepEqual(later.slice(0, -1), first.slice(0, -1));
  assert.notEqual(later.at(-1), first.at(-1), 'it is signed again');
});

test('sends changes of a login to the upstream immediately', () => {
  const grant = new Grant(record('Ann'));
  assert.equal(nameIn(identity.headersFor(grant, at(NOW_MS))), 'Ann');
  grant.update({ ...record('Ann Other'), version: 2 });
  assert.equal(nameIn(identity.headersFor(grant, at(NOW_MS))), 'Ann Other');
});
