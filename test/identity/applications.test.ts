import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { decodeJwt } from 'jose';
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  Configuration,
  calculatePKCECodeChallenge,
  customFetch,
  randomPKCECodeVerifier,
  refreshTokenGrant,
  type ServerMetadata,
  tokenRevocation,
} from 'openid-client';
import { HostBrowser, IDENTITY_ISSUER, openWithoutProof } from './without-proof.ts';

const CALLBACK = 'https://wiki.example.com/callback';
const heard: string[] = [];
const application = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => heard.push(chunk.toString()));
  request.on('end', () => response.end());
});
await new Promise<void>((resolve) => {
  application.listen(0, '127.0.0.1', resolve);
});
after(() => application.close());
const world = await openWithoutProof({ after });

/** The identity host as an application on the internet reaches it, through the edge. */
async function throughEdge(url: string, init: RequestInit): Promise<Response> {
  const { pathname, search, hostname } = new URL(url);
  const answer = await world.edge.ask(hostname, `${pathname}${search}`, {
    method: init.method ?? 'GET',
    headers: Object.fromEntries(new Headers(init.headers)),
    ...(init.body instanceof URLSearchParams && { body: init.body.toString() }),
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value));
  return new Response(answer.text, { status: answer.status, headers });
}

async function configurationOf(fields: Readonly<Record<string, unknown>> = {}): Promise<Configuration> {
  const { port } = application.address() as AddressInfo;
  const created = await world.edge.api('POST', '/oidc_clients', {
    name: 'Wiki',
    redirect_uris: [CALLBACK],
    backchannel_logout_uri: `http://127.0.0.1:${port}/logout`,
    allow_groups: ['*'],
    ...fields,
  });
  const metadata = await (await throughEdge(`${IDENTITY_ISSUER}/.well-known/openid-configuration`, {})).json();
  const configuration = new Configuration(
    metadata as ServerMetadata,
    created.client_id,
    created.client_secret ?? undefined,
  );
  configuration[customFetch] = throughEdge as never;
  return configuration;
}

async function logIn(
  configuration: Configuration,
  browser: HostBrowser,
  accountId: string,
  scope = 'openid email groups',
) {
  const verifier = randomPKCECodeVerifier();
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: CALLBACK,
    scope,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  let next = url;
  for (let step = 0; next.origin === IDENTITY_ISSUER && step < 8; step += 1) {
    const isSignIn = next.pathname === '/sign-in';
    const target = isSignIn ? new URL(`/sign-in/test${next.search}`, next) : next;
    const answer = await browser.ask(target, isSignIn ? { method: 'POST', body: accountId } : {});
    next = new URL(String(answer.headers['location']), next);
  }
  return { callback: next, tokens: () => authorizationCodeGrant(configuration, next, { pkceCodeVerifier: verifier }) };
}

test('an application logs people in, refreshes with rotation, and hears at once that they were disabled', async () => {
  const configuration = await configurationOf();
  const ana = await world.account('ana@example.com', ['ops']);
  const { tokens } = await logIn(configuration, new HostBrowser(world.edge), ana);
  const first = await tokens();
  const { sub, groups, sid } = (first.claims() ?? {}) as Readonly<Record<string, unknown>>;
  assert.deepEqual([sub, groups], [ana, ['ops']]);
  const second = await refreshTokenGrant(configuration, first.refresh_token ?? '');
  assert.notEqual(second.refresh_token, first.refresh_token);
  heard.length = 0;
  await world.edge.api('PATCH', `/user_accounts/${ana}`, { active: false });
  await assert.rejects(refreshTokenGrant(configuration, second.refresh_token ?? ''), { error: 'invalid_grant' });
  const deadline = Date.now() + 10_000;
  while (heard.length === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  const token = decodeJwt(new URLSearchParams(heard.join('')).get('logout_token') ?? '');
  assert.deepEqual([token.iss, token.sub, token['sid']], [IDENTITY_ISSUER, ana, sid]);
});

test('an application that a person logs out of hears of it, and its tokens end', async () => {
  const [wiki, shop] = [await configurationOf(), await configurationOf()];
  const browser = new HostBrowser(world.edge);
  const id = await world.account('leaves@example.com');
  const left = await (await logIn(wiki, browser, id)).tokens();
  const kept = await (await logIn(shop, browser, id)).tokens();
  const { text } = await browser.open(`${IDENTITY_ISSUER}/account`, null);
  const [, session = ''] = /name="session" value="([^"]+)"/.exec(text) ?? [];
  heard.length = 0;
  const application = wiki.clientMetadata().client_id;
  const answer = await browser.submit('/account/applications/end', { session, application });
  assert.equal(answer.headers['location'], '/account?done=application', answer.text);
  await assert.rejects(refreshTokenGrant(wiki, left.refresh_token ?? ''), { error: 'invalid_grant' });
  assert.notEqual((await refreshTokenGrant(shop, kept.refresh_token ?? '')).access_token, undefined);
  const deadline = Date.now() + 10_000;
  while (heard.length === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  const token = decodeJwt(new URLSearchParams(heard.join('')).get('logout_token') ?? '');
  assert.deepEqual([token.aud, token.sub, token['sid']], [application, id, left.claims()?.['sid']]);
});

test("an application revokes its own tokens and nobody else's, and the library prints no notice", async (t) => {
  const printed = t.mock.method(console, 'info', () => {});
  const own = await configurationOf();
  const { tokens } = await logIn(own, new HostBrowser(world.edge), await world.account('revoked@example.com'));
  const { refresh_token: given = '' } = await tokens();
  const other = await configurationOf();
  await assert.rejects(tokenRevocation(other, given), { error: 'invalid_request' });
  await tokenRevocation(await configurationOf({ public: true }), given);
  const { refresh_token: next = '' } = await refreshTokenGrant(own, given);
  await tokenRevocation(own, next);
  await assert.rejects(refreshTokenGrant(own, next), { error: 'invalid_grant' });
  assert.deepEqual(
    printed.mock.calls.map(({ arguments: [text] }) => text),
    [],
  );
});

test('only people of the allowed groups may log in, and nobody without groups', async () => {
  const browser = new HostBrowser(world.edge);
  const ben = await world.account('ben@example.com', ['sales']);
  for (const [allow_groups, error] of [
    [[], 'access_denied'],
    [['ops'], 'access_denied'],
    [['sales'], null],
    [['*'], null],
  ] as const) {
    const configuration = await configurationOf({ allow_groups });
    const { callback } = await logIn(configuration, browser, ben);
    assert.equal(callback.searchParams.get('error'), error, JSON.stringify(allow_groups));
  }
});

test('a public client has no secret and needs PKCE, and a used refresh token ends the login', async () => {
  const configuration = await configurationOf({ public: true });
  const cleo = await world.account('cleo@example.com');
  const { tokens } = await logIn(configuration, new HostBrowser(world.edge), cleo);
  const first = await tokens();
  const second = await refreshTokenGrant(configuration, first.refresh_token ?? '');
  await assert.rejects(refreshTokenGrant(configuration, first.refresh_token ?? ''));
  await assert.rejects(refreshTokenGrant(configuration, second.refresh_token ?? ''));
});

test('an application that asks for scopes which do not exist here may repeat them in a refresh', async () => {
  const configuration = await configurationOf();
  const dora = await world.account('dora@example.com', ['ops']);
  const scope = 'openid groups offline_access address';
  const { tokens } = await logIn(configuration, new HostBrowser(world.edge), dora, scope);
  const first = await tokens();
  const second = await refreshTokenGrant(configuration, first.refresh_token ?? '', { scope });
  assert.deepEqual([second.scope, second.claims()?.['groups']], ['openid groups', ['ops']]);
  const more = { scope: 'openid groups email' };
  await assert.rejects(refreshTokenGrant(configuration, second.refresh_token ?? '', more), { error: 'invalid_scope' });
});
