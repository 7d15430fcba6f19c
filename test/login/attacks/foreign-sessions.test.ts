import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import {
  askWithCookies,
  assertLoginWanted,
  COMPANION,
  change,
  cookieOf,
  routeOf,
  SESSION,
  siteAt,
  userIn,
  userOf,
} from '../flow/steps.ts';

const world = await LoginWorld.open({ after });

function cookiesOf(browser: ReturnType<LoginWorld['browser']>, host: string): string {
  const [session, companion] = [SESSION, COMPANION].map((name) => cookieOf(world, browser, host, name));
  return `${SESSION}=${session}; ${COMPANION}=${companion}`;
}

test('a session of one host is invalid on another, with the same provider and client or not', async () => {
  const one = await world.site();
  const same = await world.site();
  const other = await world.site({ client_id: 'other' });
  const browser = world.browser();
  await browser.logIn(one.host);
  const stolen = cookiesOf(browser, one.host);
  assert.equal(userIn(await askWithCookies(world, one.host, stolen)), 'alice@example.com');
  for (const { host } of [same, other]) assertLoginWanted(await askWithCookies(world, host, stolen));
});

test('a session of one host of an edge is invalid on the other host of the same edge', async () => {
  const backendId = await world.edge.staticBackend(world.upstreamAddress);
  const [one, two] = ['one.pair.localhost', 'two.pair.localhost'] as const;
  const edgeId = await world.edge.edge(one, two);
  const routePath = await world.edge.route(edgeId, '/');
  await world.edge.api('PUT', `${routePath}/backend`, { backend_id: backendId });
  world.register(one);
  world.register(two);
  await world.edge.api('PUT', `${routePath}/oidc`, world.module());
  const browser = world.browser();
  await browser.logIn(one);
  assert.equal(userIn(await askWithCookies(world, one, cookiesOf(browser, one))), 'alice@example.com');
  assertLoginWanted(await askWithCookies(world, two, cookiesOf(browser, one)));
});

test('a session of a host is invalid once the host belongs to another edge', async () => {
  const host = 'moved.corp.localhost';
  const site = await siteAt(world, host);
  const browser = world.browser();
  await browser.logIn(host);
  await world.edge.api('DELETE', site.edgePath);
  await siteAt(world, host);
  assertLoginWanted(await browser.open(host));
});

test('a session of one route is invalid on another with a different client or issuer', async () => {
  const site = await world.site();
  await routeOf(world, site, '/other', { client_id: 'other' });
  await routeOf(world, site, '/elsewhere', { issuer: 'http://127.0.0.1:9/' });
  const browser = world.browser();
  await browser.logIn(site.host);
  const stolen = cookiesOf(browser, site.host);
  assertLoginWanted(await askWithCookies(world, site.host, stolen, '/other'));
  assertLoginWanted(await askWithCookies(world, site.host, stolen, '/elsewhere'));
});

test('session fixation: a login creates a new key, and the old one is dead after its grace period', async () => {
  const site = await world.site();
  await routeOf(world, site, '/other', { client_id: 'other' });
  const browser = world.browser();
  await browser.logIn(site.host);
  const before = cookiesOf(browser, site.host);
  await browser.logIn(site.host, '/other');
  const now = cookiesOf(browser, site.host);
  assert.notEqual(now, before);
  world.clock.advance(30);
  for (const path of ['/', '/other']) {
    assertLoginWanted(await askWithCookies(world, site.host, before, path));
    assert.equal(userIn(await askWithCookies(world, site.host, now, path)), 'alice@example.com');
  }
});

test('session fixation: an attacker who planted a key does not see the login made on top of it', async () => {
  const site = await world.site();
  await routeOf(world, site, '/other', { client_id: 'other' });
  const machine = world.browser();
  await machine.logIn(site.host, '/', 'bob');
  const keptByBob = cookiesOf(machine, site.host);
  // Alice uses the machine that Bob prepared; the provider has forgotten him.
  for (const { name } of machine.jar.cookiesFor(world.provider.issuer)) {
    machine.jar.store(world.provider.issuer, `${name}=; Max-Age=0; Path=/`);
  }
  await machine.logIn(site.host, '/other', 'alice');
  assert.equal(await userOf(machine, site.host, '/other'), 'alice@example.com');
  const seen = userIn(await askWithCookies(world, site.host, keptByBob, '/other'));
  assert.notEqual(seen, 'alice@example.com');
});

test('session fixation: the key that a logged-out browser still sends is never reused', async () => {
  const site = await world.site();
  const browser = world.browser();
  await browser.logIn(site.host, '/', 'bob');
  const fixed = browser.jar.copy();
  const [session] = await sessions();
  await world.edge.api('DELETE', `/app/sessions/${session?.id}`);
  const [oldKey, oldCookies] = [cookieOf(world, browser, site.host, SESSION), cookiesOf(browser, site.host)];
  await browser.logIn(site.host);
  assert.notEqual(cookieOf(world, browser, site.host, SESSION), oldKey);
  assertLoginWanted(await askWithCookies(world, site.host, oldCookies));
  assert.equal(fixed.get(`${world.origin(site.host)}/`, SESSION)?.value, oldKey);

  async function sessions(): Promise<readonly { id: string }[]> {
    const all: { id: string; public_url: string }[] = (await world.edge.api('GET', '/app/sessions'))
      .application_sessions;
    return all.filter(({ public_url }) => public_url.includes(site.host));
  }
});

test('logging in a second time ends the first login: its cookies open nothing', async () => {
  const site = await world.site({ scopes: [] });
  const browser = world.browser();
  await browser.logIn(site.host);
  const before = cookiesOf(browser, site.host);
  await change(world, site, { scopes: ['email'] });
  await browser.logIn(site.host);
  assertLoginWanted(await askWithCookies(world, site.host, before.replace(COMPANION, 'x')));
  world.clock.advance(30);
  assertLoginWanted(await askWithCookies(world, site.host, before));
});
