import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimedIssuer } from './workload-tokens.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64url');
const PAYLOAD = encoded('{"iss":"https://ci.example"}');

for (const header of ['{"alg":"RS256"}', '{\n "alg": "RS256"}', '{\t"alg":"RS256"}', '\r\n{"alg":"RS256"}', '{}']) {
  test(`finds the issuer behind a header that starts ${JSON.stringify(header.slice(0, 4))}`, () => {
    assert.equal(claimedIssuer(`${encoded(header)}.${PAYLOAD}.c2ln`), 'https://ci.example');
  });
}

test('anything but a JWT with an issuer names none', () => {
  for (const token of [
    '',
    'opaque',
    'a.b',
    'a.b.c',
    `e30.${encoded('[]')}.x`,
    `e30.${encoded('{"iss":7}')}.x`,
    'a.b.c.d.e',
  ]) {
    assert.equal(claimedIssuer(token), null, token);
  }
});
