import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, cookieNamesOf, routeOf, seenIn, sessionsAt, userOf } from './steps.ts';

const world = await LoginWorld.open({ after });
const ALICE = 'alice@example.com';

test('two routes with different clients on one host do not log each other out, in either order, repeatedly', async () => {
  const site = await world.site();
  const { host } = site;
  await routeOf(world, site, '/other', { client_id: 'other' });
  const browser = world.browser();
  await browser.logIn(host, '/');
  assertLoginWanted(await browser.open(host, '/other'));
  assert.equal(await userOf(browser, host, '/'), ALICE, 'having been sent to the other login ends nothing');
  await browser.logIn(host, '/other');
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(await userOf(browser, host, '/'), ALICE);
    assert.equal(await userOf(browser, host, '/other'), ALICE);
  }
  assert.equal((await sessionsAt(world, host)).length, 2);
  const sessions = cookieNamesOf(world, browser, host).filter((name) => name.endsWith('session'));
  assert.equal(sessions.length, 2, 'one key for both, and its companion');
});

test('the same browser may be different users on two routes, and each upstream gets its own', async () => {
  const site = await world.site();
  const { host } = site;
  await routeOf(world, site, '/other', { client_id: 'other' });
  const browser = world.browser();
  await browser.logIn(host, '/');
  for (const { name } of browser.jar.cookiesFor(world.provider.issuer)) {
    browser.jar.store(world.provider.issuer, `${name}=; Max-Age=0; Path=/`);
  }
  await browser.logIn(host, '/other', 'bob');
  assert.equal(await userOf(browser, host, '/'), ALICE);
  assert.equal(await userOf(browser, host, '/other'), 'bob@example.com');
});

test('two routes with the same client share a login', async () => {
  const site = await world.site();
  await routeOf(world, site, '/second', {});
  const browser = world.browser();
  await browser.logIn(site.host, '/');
  assert.equal(await userOf(browser, site.host, '/second'), ALICE);
});

test('a login returns to an odd path byte for byte, and from one that a browser could take for a host to the start page', async () => {
  const { host } = await world.site();
  for (const path of [
    '/api/queues/%2F/orders',
    '/bucket/a//b',
    '/web/2020/https://example.com/',
    '/dav/a%5Cb%0Ac',
    '/;x/a',
  ]) {
    assert.equal(seenIn(await world.browser().logIn(host, path)).url, path);
  }
  assert.equal(seenIn(await world.browser().logIn(host, '//evil.example/x')).url, '/');
  const browser = world.browser();
  await browser.logIn(host, '/');
  assert.equal(seenIn(await browser.open(host, '/bucket/a//b')).url, '/bucket/a//b');
});

test('an open route beside a protected one gets none of our cookies, and no identity', async () => {
  const site = await world.site();
  const { host } = site;
  await routeOf(world, site, '/open');
  const browser = world.browser();
  seenIn(await browser.open(host, '/open'));
  await browser.upToProvider(host, '/');
  const during = seenIn(await browser.open(host, '/open'));
  assert.equal(during.headers.cookie, undefined, 'nor the flow');
  await browser.logIn(host, '/');
  browser.jar.store(world.origin(host), 'theirs=pstn2; Path=/');
  browser.jar.store(world.origin(host), 'tricky=a=pstn1.x; Path=/');
  const { headers } = seenIn(await browser.open(host, '/open'));
  assert.equal(headers.cookie, 'theirs=pstn2; tricky=a=pstn1.x', 'what only looks like ours is theirs');
  assert.deepEqual(
    Object.keys(headers).filter((name) => name.startsWith('postern-auth-')),
    [],
  );
  const login = await browser.open(host, '/.postern/login?to=%2Fopen&go=1');
  assert.equal(login.headers['location'], `${world.origin(host)}/open`, 'there is nothing to log in for');
});

test("forwards the upstream's cookies unchanged beside ours", async () => {
  const { host } = await world.site();
  const browser = world.browser();
  for (const cookie of ['a=1', 'b="quoted; no"', 'empty=', 'c=x=y'])
    browser.jar.store(world.origin(host), `${cookie}; Path=/`);
  const theirs = browser.jar.header(`${world.origin(host)}/`);
  assert.equal(seenIn(await browser.logIn(host)).headers.cookie, theirs);
});
