import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discover } from '../../../src/modules/login/provider/discovery.ts';
import type { LoginProblemKind, LoginProblemReason } from '../../../src/modules/login/provider/login-problem.ts';
import type { Fields } from './hostile-provider.ts';
import { type HostileWorld, openHostileWorld, refused } from './hostile-world.ts';

interface RefusedCase {
  readonly name: string;
  readonly bent: (honest: Fields) => Fields;
  readonly kind?: LoginProblemKind;
  readonly reason: LoginProblemReason;
  readonly words?: RegExp;
}

const REFUSED: readonly RefusedCase[] = [
  {
    name: 'issuer-mismatch',
    bent: () => ({ issuer: 'https://evil.example' }),
    reason: 'issuer_mismatch',
    words: /evil/,
  },
  {
    name: 'issuer-mismatch by a slash',
    bent: ({ issuer }) => ({ issuer: `${String(issuer)}/` }),
    reason: 'issuer_mismatch',
  },
  { name: 'issuer missing', bent: () => ({ issuer: undefined }), reason: 'issuer_mismatch' },
  {
    name: 'issuer of any Entra tenant',
    bent: () => ({ issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }),
    reason: 'issuer_template',
    words: /\{tenantid\}.*issuer of your tenant/,
  },
  ...['authorization_endpoint', 'token_endpoint', 'jwks_uri'].map(
    (name): RefusedCase => ({
      name: `no ${name}`,
      bent: () => ({ [name]: undefined }),
      reason: 'endpoint_missing',
      words: new RegExp(name),
    }),
  ),
  ...['authorization_endpoint', 'token_endpoint', 'jwks_uri', 'userinfo_endpoint', 'end_session_endpoint'].map(
    (name): RefusedCase => ({
      name: `plain http at ${name}`,
      bent: () => ({ [name]: 'http://idp.example/x?secret=1' }),
      reason: 'endpoint_insecure',
      words: new RegExp(`${name}.*http://idp.example/x$`),
    }),
  ),
  {
    name: 'a script as authorization_endpoint',
    bent: () => ({ authorization_endpoint: 'javascript:alert(1)' }),
    reason: 'endpoint_insecure',
  },
  {
    name: 'a password in token_endpoint',
    bent: () => ({ token_endpoint: 'https://a:b@idp.example/token' }),
    kind: 'provider',
    reason: 'malformed_answer',
  },
  { name: 'an endpoint that is no URL', bent: () => ({ jwks_uri: 7 }), kind: 'provider', reason: 'malformed_answer' },
  { name: 'no code flow', bent: () => ({ response_types_supported: ['id_token'] }), reason: 'code_unsupported' },
  {
    name: 'only shared-secret signatures',
    bent: () => ({ id_token_signing_alg_values_supported: ['HS256', 'none'] }),
    reason: 'algorithms_unsupported',
  },
  {
    name: 'lists that are none',
    bent: () => ({ token_endpoint_auth_methods_supported: 'client_secret_basic' }),
    kind: 'provider',
    reason: 'malformed_answer',
  },
  {
    name: 'no way to authenticate that is spoken here',
    bent: () => ({ token_endpoint_auth_methods_supported: ['private_key_jwt'] }),
    reason: 'client_authentication',
    words: /client_secret_basic/,
  },
];

for (const { name, bent, kind = 'configuration', reason, words = /./ } of REFUSED) {
  test(`oidcc-client-test-discovery-${name} is refused`, async (t) => {
    const world = await openHostileWorld(t, { discovery: (honest) => ({ ...honest, ...bent(honest) }) });
    const problem = await refused(world.authorize(), kind, reason);
    assert.match(problem.message, words);
  });
}

test('an issuer on https may not lead to plain http, not even on loopback', async () => {
  const issuer = 'https://idp.example/realms/a';
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: 'http://127.0.0.1:8080/token',
    jwks_uri: `${issuer}/jwks`,
  };
  const asked: string[] = [];
  const fetch = async (url: string | URL): Promise<Response> => {
    asked.push(String(url));
    return Response.json(document);
  };
  const discovery = discover(issuer, { fetch, isPlainHttpAllowed: () => true });
  await refused(discovery, 'configuration', 'endpoint_insecure');
  assert.deepEqual(asked, ['https://idp.example/realms/a/.well-known/openid-configuration']);
});

test('requests an issuer with a trailing slash where the specification says', async (t) => {
  const world = await openHostileWorld(t);
  const asked: string[] = [];
  world.provider.bend = {
    answer: (_endpoint, request) => {
      asked.push(request.url ?? '');
      return false;
    },
  };
  await refused(
    world.authorize(world.clientWith({ issuer: `${world.provider.issuer}/` })),
    'configuration',
    'issuer_mismatch',
  );
  assert.deepEqual(asked, ['/.well-known/openid-configuration']);
});

test('many callers share one discovery, which is cached and refreshed in the background after an hour', async (t) => {
  const world = await openHostileWorld(t);
  await Promise.all(Array.from({ length: 20 }, () => world.client.authorizationUrl(START)));
  assert.equal(discoveries(world), 1);
  world.clock.offsetMs += 59 * 60_000;
  await world.client.authorizationUrl(START);
  assert.equal(discoveries(world), 1);
  world.provider.bend = {
    discovery: (document) => ({ ...document, authorization_endpoint: `${world.provider.issuer}/moved` }),
  };
  world.clock.offsetMs += 60_000;
  assert.equal((await world.client.authorizationUrl(START)).pathname, '/authorize', 'the old one goes on meanwhile');
  await until(async () => (await world.client.authorizationUrl(START)).pathname === '/moved');
  assert.equal(discoveries(world), 2);
});

test('a later outage of the provider does not discard what is cached', async (t) => {
  const world = await openHostileWorld(t);
  await world.client.authorizationUrl(START);
  world.provider.bend = { answer: (_endpoint, _request, response) => response.destroy().destroyed };
  world.clock.offsetMs += 24 * 60 * 60_000;
  for (let attempt = 0; attempt < 5; attempt += 1) await world.client.authorizationUrl(START);
  await until(async () => discoveries(world) === 2);
  await world.client.authorizationUrl(START);
  assert.equal(discoveries(world), 2, 'and it is asked at most every five seconds');
});

test('after a failure callers get the same one for five seconds, then it is retried', async (t) => {
  const world = await openHostileWorld(t, { discovery: () => ({}) });
  // The clock stands still: a millisecond before the end does not depend on the machine's speed.
  const nowMs = world.clock.nowMs();
  world.clock.nowMs = () => nowMs + world.clock.offsetMs;
  const first = await refused(world.client.authorizationUrl(START), 'configuration', 'issuer_mismatch');
  world.provider.bend = {};
  world.clock.offsetMs += 4_999;
  assert.equal(await refused(world.client.authorizationUrl(START), 'configuration', 'issuer_mismatch'), first);
  assert.equal(discoveries(world), 1);
  world.clock.offsetMs += 1;
  await world.client.authorizationUrl(START);
  assert.equal(discoveries(world), 2);
});

test('a clock that was set back does not prolong a failure', async (t) => {
  const world = await openHostileWorld(t, { discovery: () => ({}) });
  await refused(world.client.authorizationUrl(START), 'configuration', 'issuer_mismatch');
  world.provider.bend = {};
  world.clock.offsetMs -= 3_600_000;
  await world.client.authorizationUrl(START);
});

test('the authorization request asks for openid first, with PKCE, state and nonce', async (t) => {
  const world = await openHostileWorld(t);
  const url = await world.clientWith({ scopes: ['email', 'openid', 'email'] }).authorizationUrl(START);
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    client_id: 'client-1',
    response_type: 'code',
    scope: 'openid email',
    redirect_uri: START.redirectUri,
    state: START.state,
    nonce: START.nonce,
    // RFC 7636, appendix B.
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
});

test("uses the provider's logout endpoint, if it has one", async (t) => {
  const world = await openHostileWorld(t);
  const postLogoutRedirectUri = 'https://app.example.com/';
  const url = await world.client.endSessionUrl({ idToken: 'the.id.token', postLogoutRedirectUri });
  assert.equal(url?.pathname, '/end_session');
  assert.deepEqual(Object.fromEntries(url?.searchParams ?? []), {
    client_id: 'client-1',
    id_token_hint: 'the.id.token',
    post_logout_redirect_uri: postLogoutRedirectUri,
  });
  const without = await openHostileWorld(t, {
    discovery: (document) => ({ ...document, end_session_endpoint: undefined }),
  });
  assert.equal(await without.client.endSessionUrl({ idToken: null, postLogoutRedirectUri }), null);
});

const START = {
  redirectUri: 'https://app.example.com/.postern/callback',
  state: 'the-state',
  nonce: 'the-nonce',
  codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
};

function discoveries(world: HostileWorld): number {
  return world.provider.requests.filter((name) => name === 'discovery').length;
}

/** Background work is visible only by its effect. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, 'it did not happen within ten seconds');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
