import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { logIn } from '../../support/identity-provider.ts';
import { LoginWorld } from '../../support/login-world.ts';

const world = await LoginWorld.open({ after });
afterEach(() => world.clock.reset());

const PROGRAM = { headers: { 'sec-fetch-site': 'same-origin' }, method: 'POST' };

test('a key whose login had expired does not open the next one, even during the grace period of the old key', async () => {
  const { host } = await world.site({ maximum_duration: 100 });
  const browser = world.browser();
  await browser.logIn(host);
  const thief = browser.copy();
  // Directly to the login page: no request has noticed that the login is over.
  world.clock.advance(101);
  assert.equal((await browser.logIn(host, '/.postern/login?to=/&go=1')).status, 200);
  assert.equal((await thief.open(host)).status, 302);
});

test('a logout in progress while a login replaced the key ends that login', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  // Two tabs that return one after the other; the logout was sent in between.
  const tabs = [await browser.upToProvider(host, '/one'), await browser.upToProvider(host, '/two')];
  const [first, second] = await Promise.all(tabs.map(({ url }) => logIn(world.provider, url as URL, 'alice')));
  await browser.open(host, `${first?.pathname}${first?.search}`);
  const before = browser.copy();
  await browser.open(host, `${second?.pathname}${second?.search}`);
  assert.equal((await browser.open(host)).status, 200);
  const answer = await before.ask(host, '/.postern/logout', PROGRAM);
  assert.equal(JSON.parse(answer.text).logged_out, true);
  assert.equal((await browser.open(host)).status, 302, 'a user who sees the logged-out page is logged out');
});
