import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Identity } from '../contract/recognizes-requesters.ts';
import { membership } from './membership-rules.ts';
import { google } from './providers/google.ts';

const admits = membership(google, {
  client_id: 'app',
  client_secret: '',
  scopes: [],
  email_addresses: ['frank@mail.example'],
  email_domains: ['example.com', 'xn--bcher-kva.example'],
});

function isAdmitted(email: string): boolean {
  const user: Identity = {
    kind: 'user',
    id: 'au_1',
    email,
    isEmailVerified: true,
    name: '',
    claims: {},
    droppedClaims: [],
  };
  return admits?.(user) === null;
}

const EMAILS: readonly (readonly [email: string, isAdmitted: boolean])[] = [
  ['frank@mail.example', true],
  ['Frank@Mail.Example', true],
  ['ana@EXAMPLE.com', true],
  ['ana@bücher.example', true],
  // The Kelvin sign, which becomes "k" in lower case: the mailbox of somebody else.
  ['fran\u212a@mail.example', false],
  ['eve@evil.example,ana@example.com', false],
  ['<eve@evil.example> ana@example.com', false],
  ['example.com', false],
  ['ana@sub.example.com', false],
  ['', false],
];
for (const [email, expected] of EMAILS) {
  test(`the address ${JSON.stringify(email)} is ${expected ? '' : 'not '}admitted`, () => {
    assert.equal(isAdmitted(email), expected);
  });
}
