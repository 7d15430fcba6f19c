import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { StoredRecords } from '../../edge/settings/stored-records.ts';
import { makeKey } from '../../security/keys.ts';
import { seenIn } from '../flow/steps.ts';
import { CLIENT_SECRET, person } from './fake-providers.ts';
import { OauthWorld } from './oauth-world.ts';

const world = await OauthWorld.open({ after });
const { login, fakes } = world;
const OTHER_TENANT = '99999999-2222-4333-8444-555555555555';
const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad';
beforeEach(() => {
  fakes.person = person();
});

for (const [name, idClaims] of [
  ['the issuer of another tenant', { tid: OTHER_TENANT }],
  ['a tenant that is a path', { tid: '../evil' }],
  ['no tenant', { tid: undefined }],
  ['the template as issuer', { iss: 'http://127.0.0.1/microsoft/{tenantid}/v2.0', tid: '{tenantid}' }],
  ['another audience', { aud: 'another-app' }],
  ['another nonce', { nonce: 'another' }],
  ['no nonce', { nonce: undefined }],
  ['a time that has passed', { exp: 1_000_000 }],
] as const) {
  test(`microsoft: rejects an ID token with ${name}`, async () => {
    const { host } = await world.site('microsoft');
    fakes.person.idClaims = idClaims;
    const browser = login.browser();
    const page = await world.logIn(browser, host);
    assert.equal(page.headers['postern-error-code'], 'ERR_POSTERN_LOGIN_FAILED');
    assert.notEqual((await browser.open(host)).status, 200);
  });
}

test('microsoft: users of every tenant may log in, and the upstream learns the tenant', async () => {
  const { host } = await world.site('microsoft');
  for (const tenant of [OTHER_TENANT, PERSONAL]) {
    fakes.person = person({ tenant });
    const { headers } = seenIn(await world.logIn(login.browser(), host));
    const claims = JSON.parse(Buffer.from(String(headers['postern-auth-claims']), 'base64url').toString());
    assert.equal(claims.tid, tenant);
  }
});

test('microsoft: an address that the tenant made up matches no rule, one of a personal account does', async () => {
  const { host } = await world.site('microsoft', { email_addresses: ['ana@example.com'] });
  fakes.person = person({ isEmailVerified: false, idClaims: { email_verified: true } });
  assert.equal((await world.logIn(login.browser(), host)).status, 403);
  fakes.person = person({ isEmailVerified: false, tenant: PERSONAL });
  assert.equal((await world.logIn(login.browser(), host)).status, 200);
});

test('a callback for another browser, with another state or of another flow, logs nobody in', async () => {
  const { host } = await world.site('github');
  const [attacker, victim] = [login.browser(), login.browser()];
  const { url } = await attacker.upToProvider(host);
  const back = fakes.confirm(url as URL);
  await victim.upToProvider(host, `${back.pathname}${back.search}`);
  assert.notEqual((await victim.open(host)).status, 200);
  const other = await victim.upToProvider(host);
  back.searchParams.set('state', (other.url as URL).searchParams.get('state') ?? '');
  await victim.upToProvider(host, `${back.pathname}${back.search}`);
  assert.notEqual((await victim.open(host)).status, 200, 'the code belongs to another verifier');
});

test('two users with one id at two providers are two users', async () => {
  const [github, gitlab] = [await world.site('github'), await world.site('gitlab')];
  const ids = await Promise.all(
    [github, gitlab].map(
      async ({ host }) => seenIn(await world.logIn(login.browser(), host)).headers['postern-auth-user-id'],
    ),
  );
  assert.notEqual(ids[0], ids[1]);
});

test('logins of oidc and oauth share the paths of an edge, and neither opens the other', async () => {
  const site = await world.site('github');
  const path = await login.edge.route(site.edgeId, '/openid');
  await login.edge.api('PUT', `${path}/backend`, { backend_id: await login.edge.staticBackend(login.upstreamAddress) });
  login.register(site.host);
  await login.edge.api('PUT', `${path}/oidc`, login.module());
  const browser = login.browser();
  assert.equal((await world.logIn(browser, site.host)).status, 200);
  assert.equal((await browser.open(site.host, '/openid')).status, 302);
  assert.equal((await browser.logIn(site.host, '/openid')).status, 200);
  assert.equal((await browser.open(site.host)).status, 200);
  await login.edge.api('DELETE', `${site.routePath}/oauth`);
  await login.edge.api('PUT', `${site.routePath}/oauth`, {
    provider: { github: { client_id: 'another', client_secret: 's' } },
  });
  assert.equal((await browser.open(site.host)).status, 302, 'another client needs another login');
  assert.equal((await browser.open(site.host, '/openid')).status, 200);
});

test('a route has one login module', async () => {
  const site = await world.site('github');
  await assert.rejects(login.edge.api('PUT', `${site.routePath}/oidc`, login.module()), /400.*oauth/s);
  await login.edge.api('PUT', `${site.routePath}/oidc`, login.module({ enabled: false }));
  assert.equal((await world.logIn(login.browser(), site.host)).status, 200, 'a disabled one does no harm');
  await assert.rejects(login.edge.api('PUT', `${site.routePath}/oidc`, login.module({ enabled: true })), /400/);
  await login.edge.api('DELETE', `${site.routePath}/oauth`);
  await login.edge.api('PUT', `${site.routePath}/oidc`, login.module());
  await assert.rejects(world.put(site, 'github'), /400.*oidc/s);
});

test('a route on which two login modules were stored, past the API, refuses traffic and says why', async () => {
  const site = await world.site('github');
  const browser = login.browser();
  assert.equal((await world.logIn(browser, site.host)).status, 200);
  await new StoredRecords(login.edge).putRouteModule(site, 'oidc', {
    enabled: true,
    cookie_prefix: '',
    ...login.module(),
  });
  const refused = await browser.open(site.host);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers['postern-error-code'], 'ERR_POSTERN_MODULE_UNAVAILABLE');
  const { headers } = await login.edge.world.api('GET', site.routePath);
  assert.match(headers.get('postern-problem') ?? '', /more than one login module \(oidc and oauth\)/);
});

test('a key that cannot read secrets reads no client secret, and keeps it when it sends back what it read', async () => {
  const site = await world.site('github');
  const path = `${site.routePath}/oauth`;
  const { world: server } = login.edge;
  const blind = { key: (await makeKey(server, ['edges:read', 'edges:write'])).token };
  const { body } = await server.api('GET', path, undefined, blind);
  assert.equal(body.provider.github.client_secret, '');
  assert.equal(body.provider.gitlab, null);
  assert.equal((await server.api('PUT', path, { ...body, maximum_duration: 600 }, blind)).status, 200);
  assert.equal((await server.api('GET', path)).body.provider.github.client_secret, CLIENT_SECRET);
  body.provider.github.client_id = 'of-the-blind';
  assert.equal((await server.api('PUT', path, body, blind)).status, 400, 'the secret would be sent for another client');
});
