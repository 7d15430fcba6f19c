import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import type { RunningIdentityProvider } from '../../tools/dev-idp/create-identity-provider.ts';
import { CookieJar } from '../support/cookie-jar.ts';
import { denyLogIn, IdentityProvider, logIn, logOut } from '../support/identity-provider.ts';

const CALLBACK = 'https://app.localhost:7443/.postern/callback';
const LOGGED_OUT = 'https://app.localhost:7443/.postern/logout/done';
const CLIENT = {
  client_id: 'app',
  client_secret: 'a-secret',
  redirect_uris: [CALLBACK],
  post_logout_redirect_uris: [LOGGED_OUT],
};

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly error?: string;
}

function newFlow(provider: RunningIdentityProvider, parameters: Readonly<Record<string, string>> = {}) {
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL('/auth', provider.issuer);
  url.search = new URLSearchParams({
    client_id: 'app',
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid email profile',
    state: 'state-of-the-client',
    nonce: 'nonce-of-the-client',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...parameters,
  }).toString();
  return { url, verifier };
}

async function askForTokens(
  provider: RunningIdentityProvider,
  form: Readonly<Record<string, string>>,
): Promise<{ status: number; tokens: Tokens }> {
  const answer = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('app:a-secret')}` },
    body: new URLSearchParams(form),
  });
  return { status: answer.status, tokens: (await answer.json()) as Tokens };
}

async function tokensOf(
  provider: RunningIdentityProvider,
  { parameters = {}, user = 'alice', jar = new CookieJar() } = {},
): Promise<Tokens> {
  const { url, verifier } = newFlow(provider, parameters);
  const back = await logIn(provider, url, user, jar);
  assert.equal(back.origin + back.pathname, CALLBACK);
  const code = back.searchParams.get('code') ?? '';
  const { status, tokens } = await askForTokens(provider, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: verifier,
  });
  assert.equal(status, 200, JSON.stringify(tokens));
  return tokens;
}

async function verified(provider: RunningIdentityProvider, idToken: string): Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL('/jwks', provider.issuer));
  return (await jwtVerify(idToken, keys, { issuer: provider.issuer, audience: 'app' })).payload;
}

test("discovery names the issuer and the provider's capabilities", async (t) => {
  const provider = await IdentityProvider.open(t);
  assert.match(provider.issuer, /^http:\/\/127\.0\.0\.1:\d+$/);
  const answer = await fetch(`${provider.issuer}/.well-known/openid-configuration`);
  const document = (await answer.json()) as Record<string, unknown>;
  assert.equal(document['issuer'], provider.issuer);
  assert.equal(document['end_session_endpoint'], `${provider.issuer}/session/end`);
  assert.equal(document['backchannel_logout_supported'], true);
  assert.equal(document['backchannel_logout_session_supported'], true);
  assert.equal(document['authorization_response_iss_parameter_supported'], true);
  assert.deepEqual(document['scopes_supported'], ['openid', 'email', 'profile', 'offline_access']);
  assert.deepEqual(document['code_challenge_methods_supported'], ['S256']);
  assert.equal(provider.requests.count('discovery'), 1);
});

test('a user logs in, and the ID token identifies them', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT], accessTokenTtlS: 7 });
  const { url, verifier } = newFlow(provider);
  const back = await logIn(provider, url, 'alice');
  assert.equal(back.searchParams.get('state'), 'state-of-the-client');
  assert.equal(back.searchParams.get('iss'), provider.issuer);
  const code = back.searchParams.get('code') ?? '';
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK };
  const wrong = await askForTokens(provider, { ...exchange, code_verifier: randomBytes(32).toString('base64url') });
  assert.deepEqual([wrong.status, wrong.tokens.error], [400, 'invalid_grant']);
  const { tokens } = await askForTokens(provider, { ...exchange, code_verifier: verifier });
  assert.equal(tokens.expires_in, 7);
  assert.equal(tokens.refresh_token, undefined);
  const claims = await verified(provider, tokens.id_token);
  assert.equal(claims.sub, 'alice');
  assert.equal(claims['email'], 'alice@example.com');
  assert.equal(claims['name'], 'Alice Example');
  assert.equal(claims['nonce'], 'nonce-of-the-client');
  assert.deepEqual(provider.requests.tokenRequests, [
    { grantType: 'authorization_code', clientId: 'app', error: 'invalid_grant' },
    { grantType: 'authorization_code', clientId: 'app', error: null },
  ]);
});

test('a public client needs no secret, and clients can be replaced while it runs', async (t) => {
  const provider = await IdentityProvider.open(t);
  const { url, verifier } = newFlow(provider);
  await assert.rejects(logIn(provider, url, 'bob'), /invalid_client/);
  provider.setClients([{ client_id: 'app', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }]);
  const code = (await logIn(provider, url, 'bob')).searchParams.get('code') ?? '';
  const answer = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'app',
      code,
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    }),
  });
  const { id_token: idToken } = (await answer.json()) as Tokens;
  assert.equal((await verified(provider, idToken))['email'], 'bob@example.com');
});

test('does not ask a user again who is logged in at the provider', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT] });
  const jar = new CookieJar();
  await tokensOf(provider, { jar, user: 'bob' });
  const again = await tokensOf(provider, { jar, user: 'alice' });
  assert.equal((await verified(provider, again.id_token)).sub, 'bob');
});

test('refresh tokens rotate, and a reused one ends the grant', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT] });
  const offline = { scope: 'openid email offline_access', prompt: 'consent' };
  const first = await tokensOf(provider, { parameters: offline });
  const refresh = (token: string | undefined) =>
    askForTokens(provider, { grant_type: 'refresh_token', refresh_token: token ?? '' });
  const second = await refresh(first.refresh_token);
  assert.equal(second.status, 200);
  assert.notEqual(second.tokens.refresh_token, first.refresh_token);
  assert.equal((await verified(provider, second.tokens.id_token)).sub, 'alice');
  assert.equal((await refresh(first.refresh_token)).tokens.error, 'invalid_grant');
  assert.equal((await refresh(second.tokens.refresh_token)).tokens.error, 'invalid_grant');
  assert.deepEqual(
    provider.requests.tokenRequests.map(({ grantType, error }) => [grantType, error]),
    [
      ['authorization_code', null],
      ['refresh_token', null],
      ['refresh_token', 'invalid_grant'],
      ['refresh_token', 'invalid_grant'],
    ],
  );
});

test('refresh tokens can be issued always or never', async (t) => {
  const offline = { scope: 'openid offline_access', prompt: 'consent' };
  const always = await IdentityProvider.open(t, { clients: [CLIENT], refreshTokens: 'always' });
  assert.ok((await tokensOf(always)).refresh_token);
  const never = await IdentityProvider.open(t, { clients: [CLIENT], refreshTokens: 'never' });
  assert.equal((await tokensOf(never, { parameters: offline })).refresh_token, undefined);
});

test('revoked grants of a user cannot be refreshed; those of others can', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT], refreshTokens: 'always' });
  const alice = await tokensOf(provider, { user: 'alice' });
  const bob = await tokensOf(provider, { user: 'bob' });
  provider.revokeGrants('alice');
  const refresh = (token = '') => askForTokens(provider, { grant_type: 'refresh_token', refresh_token: token });
  assert.equal((await refresh(alice.refresh_token)).tokens.error, 'invalid_grant');
  assert.equal((await refresh(bob.refresh_token)).status, 200);
});

test('denial comes back as access_denied', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT] });
  const back = await denyLogIn(provider, newFlow(provider).url);
  assert.equal(back.origin + back.pathname, CALLBACK);
  assert.equal(back.searchParams.get('error'), 'access_denied');
  assert.equal(back.searchParams.get('state'), 'state-of-the-client');
});

test('the end of a session notifies the client through the back channel, and returns with the state', async (t) => {
  const told: string[] = [];
  const client = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => told.push(text));
    request.on('end', () => response.end());
  }).listen(0, '127.0.0.1');
  t.after(() => client.close());
  await new Promise((resolve) => client.once('listening', resolve));
  const { port } = client.address() as AddressInfo;
  const address = `http://app.localhost:${port}/.postern/backchannel-logout`;
  const provider = await IdentityProvider.open(t, { clients: [{ ...CLIENT, backchannel_logout_uri: address }] });

  const jar = new CookieJar();
  const tokens = await tokensOf(provider, { jar });
  const { sid } = await verified(provider, tokens.id_token);
  assert.ok(sid);
  const end = new URL('/session/end', provider.issuer);
  end.search = new URLSearchParams({
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: LOGGED_OUT,
    state: 'after-logout',
  }).toString();
  const back = await logOut(provider, end, jar);
  assert.equal(back.href, `${LOGGED_OUT}?state=after-logout`);
  const logout = await verified(provider, new URLSearchParams(told[0]).get('logout_token') ?? '');
  assert.equal(logout.sub, 'alice');
  assert.equal(logout['sid'], sid);
  assert.ok(logout.jti);
  assert.equal(logout['nonce'], undefined);

  // The session is over: the next login asks again.
  const next = await tokensOf(provider, { jar, user: 'bob' });
  assert.equal((await verified(provider, next.id_token)).sub, 'bob');

  // An administrator ends a session without the user's browser.
  await provider.endSessions('bob');
  assert.equal((await verified(provider, new URLSearchParams(told[1]).get('logout_token') ?? '')).sub, 'bob');
});

test('keys rotate: new tokens use a new key, and old ones are valid while theirs is published', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT] });
  const jar = new CookieJar();
  const before = await tokensOf(provider, { jar });
  await provider.rotateKeys();
  // The same session at the provider continues.
  const after = await tokensOf(provider, { jar, user: 'bob' });
  assert.notEqual(decodeProtectedHeader(before.id_token).kid, decodeProtectedHeader(after.id_token).kid);
  assert.equal((await verified(provider, before.id_token)).sub, 'alice');
  assert.equal((await verified(provider, after.id_token)).sub, 'alice');
  await provider.rotateKeys({ keepOld: false });
  await assert.rejects(verified(provider, after.id_token), /no applicable key/);
  assert.equal(provider.requests.count('jwks'), 3);
});

test('the provider stops and restarts on its port with its state', async (t) => {
  const provider = await IdentityProvider.open(t, { clients: [CLIENT], refreshTokens: 'always' });
  const { refresh_token: token = '' } = await tokensOf(provider);
  await provider.stop();
  await assert.rejects(fetch(`${provider.issuer}/jwks`));
  await provider.stop();
  await provider.start();
  assert.equal((await askForTokens(provider, { grant_type: 'refresh_token', refresh_token: token })).status, 200);
});

test('responses can be held until the test releases them', async (t) => {
  const provider = await IdentityProvider.open(t);
  const release = provider.requests.hold('jwks');
  const came = provider.requests.next('jwks');
  let isAnswered = false;
  const answer = fetch(`${provider.issuer}/jwks`).then((response) => {
    isAnswered = true;
    return response.status;
  });
  await came;
  // Another endpoint is not held, and its response comes first.
  assert.equal((await fetch(`${provider.issuer}/.well-known/openid-configuration`)).status, 200);
  assert.equal(isAnswered, false);
  release();
  assert.equal(await answer, 200);
});

test('claims of a user can be anything, and change while it runs', async (t) => {
  const users = [{ id: 'mallory', claims: { name: '<b>M</b>\r\nX: y', email: 'm@example.com' } }];
  const provider = await IdentityProvider.open(t, { clients: [CLIENT], users });
  const jar = new CookieJar();
  const tokens = await tokensOf(provider, { user: 'mallory', jar });
  assert.equal((await verified(provider, tokens.id_token))['name'], '<b>M</b>\r\nX: y');
  provider.setUsers([{ id: 'mallory', claims: { name: 'Mallory' } }]);
  assert.equal((await verified(provider, (await tokensOf(provider, { jar })).id_token))['name'], 'Mallory');
});
