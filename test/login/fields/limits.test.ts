import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, change, sessionsAt, userOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const ALICE = 'alice@example.com';
const MAX = 4_294_967_295;
const DAY = 86_400;

/** Each test starts at the provider's own time: its tokens have that time. */
function advance(t: TestContext, seconds: number): void {
  world.clock.advance(seconds);
  t.after(() => world.clock.advance(-seconds));
}

test('inactivity_timeout: use keeps a session, idleness ends it', async (t) => {
  const { host } = await world.site({ inactivity_timeout: 600 });
  const browser = world.browser();
  await browser.logIn(host);
  for (let step = 0; step < 5; step += 1) {
    advance(t, 500);
    assert.equal(await userOf(browser, host), ALICE, 'used within the time, again and again');
  }
  advance(t, 700);
  assertLoginWanted(await browser.open(host));
});

test('inactivity_timeout: rejected requests and own responses do not count as use', async (t) => {
  const { host } = await world.site({ inactivity_timeout: 600 });
  const browser = world.browser();
  await browser.logIn(host);
  advance(t, 500);
  await browser.open(host, '/.postern/jwks.json');
  advance(t, 200);
  assertLoginWanted(await browser.open(host));
});

test('inactivity_timeout: the current value applies, lowered or raised after the login', async (t) => {
  const site = await world.site();
  const [one, two] = [world.browser(), world.browser()];
  await one.logIn(site.host);
  await two.logIn(site.host, '/', 'bob');
  advance(t, 1000);
  await change(world, site, { inactivity_timeout: 1500 });
  assert.equal(await userOf(one, site.host), ALICE);
  await change(world, site, { inactivity_timeout: 900 });
  assert.equal(await userOf(one, site.host), ALICE, 'used a moment ago');
  assertLoginWanted(await two.open(site.host));
  await change(world, site, { inactivity_timeout: 0 });
  assertLoginWanted(await two.open(site.host));
});

test('maximum_duration: ends a session however busy it is', async (t) => {
  const { host } = await world.site({ maximum_duration: 1000 });
  const browser = world.browser();
  await browser.logIn(host);
  for (let step = 0; step < 3; step += 1) {
    advance(t, 300);
    assert.equal(await userOf(browser, host), ALICE);
  }
  advance(t, 200);
  assertLoginWanted(await browser.open(host));
  assert.deepEqual(await sessionsAt(world, host), [], 'the API says so too');
});

test('maximum_duration: an expired session stays so when the limit is raised', async (t) => {
  const site = await world.site({ maximum_duration: 1000 });
  const browser = world.browser();
  await browser.logIn(site.host);
  advance(t, 1100);
  assertLoginWanted(await browser.open(site.host));
  await change(world, site, { maximum_duration: 0 });
  assertLoginWanted(await browser.open(site.host));
});

test('maximum_duration: the current value applies, lowered after the login', async (t) => {
  const site = await world.site({ maximum_duration: 0 });
  const browser = world.browser();
  await browser.logIn(site.host);
  advance(t, 500);
  await change(world, site, { maximum_duration: 1000 });
  assert.equal(await userOf(browser, site.host), ALICE);
  await change(world, site, { maximum_duration: 400 });
  assertLoginWanted(await browser.open(site.host));
});

test('limits: 0 is no limit where the settings have none, and the cookie lives accordingly', async (t) => {
  const unlimited = await LoginWorld.open(t, {
    env: { POSTERN_LOGIN_MAXIMUM_DURATION: '0', POSTERN_LOGIN_INACTIVITY_TIMEOUT: '0' },
  });
  const { host } = await unlimited.site();
  const browser = unlimited.browser();
  await browser.logIn(host);
  const [cookie] = browser.jar.cookiesFor(`${unlimited.origin(host)}/`);
  assert.ok(Math.abs((cookie?.expiresAtMs ?? 0) - Date.now() - 400 * DAY * 1000) < 60_000);
  const [session] = await sessionsAt(unlimited, host);
  assert.deepEqual([session?.maximum_duration, session?.inactivity_timeout], [0, 0]);
  assert.equal(session?.expires_at, null);
  for (let month = 0; month < 2; month += 1) {
    unlimited.clock.advance(29 * DAY);
    assert.equal(await userOf(browser, host), ALICE);
  }
});

test('limits: those of the settings apply where a module has 0, and the session shows what applies', async (t) => {
  const site = await world.site();
  const [idle, busy] = [world.browser(), world.browser()];
  await idle.logIn(site.host);
  await busy.logIn(site.host, '/', 'bob');
  const [session] = await sessionsAt(world, site.host);
  assert.deepEqual([session?.maximum_duration, session?.inactivity_timeout], [30 * DAY, 7 * DAY]);
  for (let step = 0; step < 5; step += 1) {
    advance(t, 6 * DAY - 10);
    assert.equal(await userOf(busy, site.host), 'bob@example.com');
    if (step > 0) assertLoginWanted(await idle.open(site.host));
  }
  advance(t, 60);
  assertLoginWanted(await busy.open(site.host));
});

test('limits: the session shows the limits of its module, and follows their change', async () => {
  const site = await world.site({ maximum_duration: 1000 });
  await world.browser().logIn(site.host);
  const shown = async () => (await sessionsAt(world, site.host)).map((each) => each.maximum_duration);
  assert.deepEqual(await shown(), [1000]);
  await change(world, site, { maximum_duration: 2000 });
  assert.deepEqual(await shown(), [2000]);
});

for (const [name, limits, cookieAge] of [
  ['4294967295 is a long time, not an overflow', { inactivity_timeout: MAX, maximum_duration: MAX }, 400 * DAY],
  ['60 days', { inactivity_timeout: MAX, maximum_duration: 60 * DAY }, 60 * DAY],
] as const) {
  test(`limits: ${name}, and the cookie lives accordingly`, async (t) => {
    const site = await world.site(limits);
    const browser = world.browser();
    await browser.logIn(site.host);
    const [cookie] = browser.jar.cookiesFor(`${world.origin(site.host)}/`);
    assert.ok(Math.abs((cookie?.expiresAtMs ?? 0) - Date.now() - cookieAge * 1000) < 60_000);
    // Used occasionally: logins unused for 90 days are pruned.
    for (let month = 0; month < 2; month += 1) {
      advance(t, 29 * DAY);
      assert.equal(await userOf(browser, site.host), ALICE);
    }
  });
}
