import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Facts } from '../facts.ts';
import { identityCheck } from './identity.ts';

const NOTHING = { edges: [], tls_certificates: [], managed_certificates: [], user_accounts: [], nowMs: 0 };
const levels = (facts: object, host: string | null = 'id.example.com', acme = 'on') => {
  const all = { ...NOTHING, config: { identity_host: host, acme }, ...facts } as unknown as Facts;
  return [...identityCheck.run(all)]
    .filter((finding) => finding !== null)
    .map(({ level, message }) => `${level}: ${message}`);
};
const ana = (...passkeyHosts: string[]) => ({ id: 'ua_1', email: 'ana@example.com', passkeyHosts });

suite('the check of the identity host', () => {
  test('says nothing while identity is off, unless there are people', () => {
    assert.deepEqual(levels({}, null), []);
    assert.match(levels({ user_accounts: [ana()] }, null)[0] ?? '', /^warning: .*nobody can log in/);
  });

  test('is fine with a public certificate, and below localhost', () => {
    assert.deepEqual(levels({ user_accounts: [ana('id.example.com')] }), ['ok: people can log in at id.example.com']);
    assert.deepEqual(levels({}, 'id.localhost:7443', 'off'), ['ok: people can log in at id.localhost']);
  });

  test('warns that browsers refuse passkeys where they do not trust the certificate', () => {
    assert.match(levels({}, 'id.example.org', 'off')[0] ?? '', /^warning: .*refuse passkeys/);
    assert.match(levels({}, 'id.internal', 'off')[0] ?? '', /^hint: .*refuse passkeys/);
  });

  test('warns of passkeys that belong to another host', () => {
    const found = levels({ user_accounts: [ana('id.example.com', 'old.example.com')] });
    assert.match(found[0] ?? '', /^warning: passkeys of ana@example\.com belong to old\.example\.com/);
  });

  test('reports an edge that has the host or one below it', () => {
    const edges = ['a.example.com:443', 'x.id.example.com:443'].map((host, at) => ({
      id: `e${at}`,
      hostports: [host],
    }));
    assert.match(levels({ edges })[0] ?? '', /^problem: the edge e1 has the host x\.id\.example\.com/);
  });
});
