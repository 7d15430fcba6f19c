import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { issue } from '../../edge/tls/test-authority.ts';
import { logIn } from '../../support/identity-provider.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { change, NAVIGATION, routeOf, seenIn, sessionsAt } from './steps.ts';

const world = await LoginWorld.open({ after });
const PATHS = ['/.postern/login', '/.postern/callback', '/.postern/logout', '/.postern/jwks.json', '/.postern/nothing'];

test('on a host without login, or with a disabled one, they are ordinary paths', async () => {
  const bare = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress));
  const disabled = await world.site({ enabled: false });
  for (const { host } of [bare, disabled]) {
    for (const path of PATHS) assert.equal(seenIn(await world.edge.ask(host, path)).url, path);
  }
  await change(world, disabled, {});
  for (const path of PATHS) {
    const answer = await world.edge.ask(disabled.host, path);
    assert.ok(!answer.text.startsWith('{"url"'), `${path} went upstream`);
  }
});

test('with login on one route of a host they are ours on the whole host, and reach no upstream', async () => {
  const site = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress));
  world.register(site.host);
  await routeOf(world, site, '/private', {});
  assert.equal((await world.edge.ask(site.host, '/.postern/jwks.json')).status, 200);
  assert.equal((await world.edge.ask(site.host, '/.postern/nothing')).status, 404);
  assert.equal(seenIn(await world.edge.ask(site.host, '/')).url, '/');
  // A similar path does not count.
  for (const path of ['/.postern', '/.posternx/login', '/x/.postern/login', '/.POSTERN/login']) {
    assert.equal(seenIn(await world.edge.ask(site.host, path)).url, path);
  }
});

for (const [method, path] of [
  ['GET', '/.postern/'],
  ['GET', '/.postern/nothing'],
  ['GET', '/.postern/login/'],
  ['GET', '/.postern/constructor'],
  ['GET', '/.postern/__proto__'],
  ['GET', '/%2epostern/login'],
  ['GET', '/.postern/%6cogin'],
  ['GET', '/.postern/login;x=1'],
  ['POST', '/.postern/login'],
  ['POST', '/.postern/callback'],
  ['PUT', '/.postern/logout'],
  ['DELETE', '/.postern/jwks.json'],
  ['GET', '/.postern/backchannel-logout'],
  ['OPTIONS', '/.postern/login'],
] as const) {
  test(`${method} ${path} is 404, for people and programs`, async () => {
    const { host } = await shared;
    const json = await world.edge.ask(host, path, { method });
    assert.equal(json.status, 404);
    assert.equal(JSON.parse(json.text).error_code, 'ERR_POSTERN_NO_OWN_PATH');
    const page = await world.edge.ask(host, path, { method, headers: NAVIGATION });
    assert.match(page.text, /are reserved for the login of this site/);
  });
}
const shared = world.site({ options_passthrough: true });

test('they require the client certificates of the edge', async () => {
  const site = await world.site();
  const authority = await issue({ commonName: 'CA of clients', isCa: true });
  const person = await issue({ commonName: 'a person', issuer: authority, usages: ['client'] });
  const { id } = await world.edge.api('POST', '/certificate_authorities', { ca_pem: authority.certificatePem });
  await world.edge.api('PUT', `${site.edgePath}/mutual_tls`, { certificate_authority_ids: [id] });
  const certificate = { cert: person.certificatePem, key: person.keyPem };
  for (const path of PATHS) {
    await assert.rejects(world.edge.ask(site.host, path), `${path} without a certificate`);
  }
  const login = await world.edge.ask(site.host, '/.postern/login?go=1', certificate);
  assert.equal(new URL(String(login.headers['location'])).origin, world.provider.issuer);
});

test('they require an allowed address of the route: others get 403, even midway through a login', async () => {
  const site = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(site.host, '/wanted');
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  const { policyId } = await world.edge.ipPolicy('deny', '127.0.0.1/32');
  await world.edge.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
  for (const path of [...PATHS, '/.postern/login?go=1', `${callback.pathname}${callback.search}`]) {
    assert.equal((await browser.open(site.host, path)).status, 403, path);
  }
  assert.deepEqual(await sessionsAt(world, site.host), []);
});

test('of two routes with login only the one whose addresses allow it can be logged in to', async () => {
  const site = await world.site();
  await routeOf(world, site, '/free', { client_id: 'other' });
  const browser = world.browser();
  const { url } = await browser.upToProvider(site.host, '/wanted');
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  const { policyId } = await world.edge.ipPolicy('deny', '127.0.0.1/32');
  await world.edge.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
  assert.equal((await browser.open(site.host, '/.postern/login?to=%2Fwanted&go=1')).status, 403);
  const back = await browser.open(site.host, `${callback.pathname}${callback.search}`);
  assert.match(String(back.headers['location']), /\/\.postern\/login\?to=%2Fwanted&go=1/);
  assert.equal((await browser.open(site.host, '/.postern/login?to=%2Fwanted&go=1&round=1')).status, 403);
  assert.deepEqual(await sessionsAt(world, site.host), []);
  assert.equal(seenIn(await browser.logIn(site.host, '/free/page')).url, '/free/page');
});
