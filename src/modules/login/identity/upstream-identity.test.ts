import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import type { LoginRecord } from '../login-store.ts';
import { Grant } from '../sessions/grant.ts';
import { AssertionSigner } from './assertion-signer.ts';
import { UpstreamIdentity } from './upstream-identity.ts';

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
