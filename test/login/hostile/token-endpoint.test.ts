import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoginProblemKind, LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import { openHostileWorld, refused } from './hostile-world.ts';

const methods = (supported: readonly string[] | undefined) => ({
  discovery: (document: Record<string, unknown>) => ({ ...document, token_endpoint_auth_methods_supported: supported }),
});

for (const supported of [undefined, ['client_secret_post', 'client_secret_basic']] as const) {
  test(`client_secret_basic when ${supported === undefined ? 'nothing is announced' : 'it is announced'}`, async (t) => {
    const world = await openHostileWorld(t, methods(supported));
    await world.login();
    const [request] = world.provider.tokenRequests;
    const credentials = Buffer.from(request?.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString();
    // RFC 6749 §2.3.1: both parts are form-encoded; characters that need no encoding stay, for providers that do not
    // decode.
    assert.equal(credentials, 'client-1:the+client+secret%3A+%C3%BC%2B%25');
    assert.equal(request?.body.get('client_secret'), null);
  });
}

test('client_secret_post when basic is not announced', async (t) => {
  const world = await openHostileWorld(t, methods(['client_secret_post', 'private_key_jwt']));
  await world.login();
  const [request] = world.provider.tokenRequests;
  assert.equal(request?.authorization, undefined);
  assert.equal(request?.body.get('client_secret'), world.provider.clientSecret);
  assert.equal(request?.body.get('client_id'), 'client-1');
});

test('a public client sends its id and no secret, whatever is announced', async (t) => {
  const world = await openHostileWorld(t, methods(['client_secret_basic']));
  await world.login(world.clientWith({ clientSecret: '' }));
  const [request] = world.provider.tokenRequests;
  assert.equal(request?.authorization, undefined);
  assert.deepEqual([...(request?.body.keys() ?? [])].sort(), [
    'client_id',
    'code',
    'code_verifier',
    'grant_type',
    'redirect_uri',
  ]);
});

interface AnsweredError {
  readonly status: number;
  readonly challenge?: string;
  readonly body: string;
  readonly kind: LoginProblemKind;
  readonly reason: LoginProblemReason;
}

const ERRORS: readonly AnsweredError[] = [
  { status: 400, body: '{"error":"invalid_grant"}', kind: 'invalid_grant', reason: 'invalid_grant' },
  { status: 401, body: '{"error":"invalid_client"}', kind: 'configuration', reason: 'client_rejected' },
  {
    status: 401,
    challenge: 'Basic realm="x"',
    body: '{"error":"invalid_client"}',
    kind: 'configuration',
    reason: 'client_rejected',
  },
  { status: 401, challenge: 'Basic realm="x"', body: 'who are you', kind: 'configuration', reason: 'client_rejected' },
  {
    status: 400,
    challenge: 'Bearer',
    body: '{"error":"invalid_grant"}',
    kind: 'invalid_grant',
    reason: 'invalid_grant',
  },
  { status: 503, challenge: 'Bearer', body: 'later', kind: 'unreachable', reason: 'unexpected_status' },
  { status: 400, body: '{"error":"unauthorized_client"}', kind: 'configuration', reason: 'client_rejected' },
  { status: 400, body: '{"error":"invalid_scope"}', kind: 'provider', reason: 'token_error' },
  { status: 429, body: '{}', kind: 'unreachable', reason: 'unexpected_status' },
];

for (const { status, challenge, body, kind, reason } of ERRORS) {
  test(`the token endpoint returning ${status} ${challenge ?? ''} ${body} is ${reason}`, async (t) => {
    const world = await openHostileWorld(t, {
      answer: (endpoint, _request, response) => {
        if (endpoint !== 'token') return false;
        if (challenge !== undefined) response.setHeader('www-authenticate', challenge);
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
        return true;
      },
    });
    await refused(world.login(), kind, reason);
  });
}

test('does not repeat secrets that the provider returns in an error', async (t) => {
  const world = await openHostileWorld(t);
  const callback = await world.authorize();
  const code = callback.callbackUrl.searchParams.get('code') ?? '';
  const secrets = [code, callback.codeVerifier, world.provider.clientSecret];
  world.provider.bend = {
    answer: (endpoint, _request, response) => {
      if (endpoint !== 'token') return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: `bad ${code}`, error_description: secrets.join(' ') }));
      return true;
    },
  };
  await refused(world.client.exchange(callback), 'provider', 'token_error', secrets);
});

for (const [name, bent, reason] of [
  ['no access token', { access_token: undefined }, 'malformed_answer'],
  ['a token type of its own', { token_type: 'mac' }, 'malformed_answer'],
  ['an expiry that is no number', { expires_in: 'soon' }, 'malformed_answer'],
  ['an expiry in the past', { expires_in: -5 }, 'malformed_answer'],
  ['a refresh token that is no text', { refresh_token: 7 }, 'malformed_answer'],
] as const) {
  test(`rejects a response with ${name}`, async (t) => {
    const world = await openHostileWorld(t, { tokenAnswer: (answer) => ({ ...answer, ...bent }) });
    await refused(world.login(), 'provider', reason);
  });
}

test('accepts a missing refresh token, a missing expiry and fewer scopes', async (t) => {
  const world = await openHostileWorld(t, {
    tokenAnswer: (answer) => ({ ...answer, refresh_token: undefined, expires_in: undefined, scope: 'openid' }),
  });
  const tokens = await world.login();
  assert.equal(tokens.refreshToken, null);
  assert.equal(tokens.accessExpiresInSeconds, null);
  assert.deepEqual(tokens.grantedScopes, ['openid']);
});
