import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GUEST_ISSUER } from '../guest-issuer.ts';
import { Grant } from './grant.ts';

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
