import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoginProblemKind, LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import type { Bend } from './hostile-provider.ts';
import { openHostileWorld, refused } from './hostile-world.ts';

interface RefusedCase {
  readonly name: string;
  readonly bend: (query: URLSearchParams) => void;
  readonly kind?: LoginProblemKind;
  readonly reason: LoginProblemReason;
}

const error = (code: string, description?: string) => (query: URLSearchParams) => {
  query.delete('code');
  query.set('error', code);
  if (description !== undefined) query.set('error_description', description);
};

const REFUSED: readonly RefusedCase[] = [
  { name: 'another state', bend: (query) => query.set('state', 'another'), reason: 'callback_state' },
  { name: 'no state', bend: (query) => query.delete('state'), reason: 'callback_state' },
  { name: 'two states', bend: (query) => query.append('state', 'the-state'), reason: 'callback_malformed' },
  { name: 'two codes', bend: (query) => query.append('code', 'another'), reason: 'callback_malformed' },
  { name: 'no code', bend: (query) => query.delete('code'), reason: 'callback_malformed' },
  { name: 'an empty code', bend: (query) => query.set('code', ''), reason: 'callback_malformed' },
  {
    name: 'the iss of another provider',
    bend: (query) => query.set('iss', 'https://evil.example'),
    reason: 'callback_issuer',
  },
  { name: 'an empty iss', bend: (query) => query.set('iss', ''), reason: 'callback_issuer' },
  { name: 'access_denied', bend: error('access_denied'), kind: 'denied', reason: 'access_denied' },
  { name: 'server_error', bend: error('server_error', 'try later'), reason: 'callback_error' },
  {
    name: 'access_denied for another login',
    bend: (query) => {
      error('access_denied')(query);
      query.set('state', 'another');
    },
    reason: 'callback_state',
  },
  {
    name: 'access_denied of another provider',
    bend: (query) => {
      error('access_denied')(query);
      query.set('iss', 'https://evil.example');
    },
    reason: 'callback_issuer',
  },
];

for (const { name, bend, kind = 'provider', reason } of REFUSED) {
  test(`rejects a callback with ${name} before the token endpoint sees it`, async (t) => {
    const world = await openHostileWorld(t, { callback: bend });
    await refused(world.login(), kind, reason);
    assert.ok(!world.provider.requests.includes('token'));
  });
}

const ANNOUNCED: Bend = {
  discovery: (document) => ({ ...document, authorization_response_iss_parameter_supported: true }),
};

test('RFC 9207: rejects a missing iss when the provider announces it, and accepts the right one', async (t) => {
  const world = await openHostileWorld(t, ANNOUNCED);
  await refused(world.login(), 'provider', 'callback_issuer');
  world.provider.bend = { ...ANNOUNCED, callback: (query) => query.set('iss', world.provider.issuer) };
  assert.equal((await world.login()).subject, 'user-1');
  world.provider.bend = { callback: (query) => query.set('iss', world.provider.issuer) };
  assert.equal((await world.login()).subject, 'user-1', 'unannounced');
});

test("truncates the provider's error text and makes it printable", async (t) => {
  const world = await openHostileWorld(t, {
    callback: error('odd\r\nfake: line', `\u001b[31m\u2028${'x'.repeat(10_000)}`),
  });
  const { message } = await refused(world.login(), 'provider', 'callback_error');
  assert.match(message, /^[\x20-\x7e…]+$/);
  assert.ok(message.length < 500);
});

test('a used code is rejected as invalid_grant, and is not in the message', async (t) => {
  const world = await openHostileWorld(t);
  const callback = await world.authorize();
  await world.client.exchange(callback);
  const code = callback.callbackUrl.searchParams.get('code') ?? '';
  const { message } = await refused(world.client.exchange(callback), 'invalid_grant', 'invalid_grant', [code]);
  assert.match(message, /\[redacted\] is spent/);
});

test('a code is useless without its verifier', async (t) => {
  const world = await openHostileWorld(t);
  const callback = { ...(await world.authorize()), codeVerifier: 'w'.repeat(43) };
  await refused(world.client.exchange(callback), 'invalid_grant', 'invalid_grant', [callback.codeVerifier]);
});
