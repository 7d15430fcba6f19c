import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { EdgeAnswer } from '../../support/edge-world.ts';
import { logIn } from '../../support/identity-provider.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';
import { COMPANION, cookieOf, routeOf, SESSION, sessionsAt, userOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });

/** A login that came back from the provider and has not been sent to the edge yet. */
async function unfinished(browser: Browser, host: string, user: string, path = '/'): Promise<URL> {
  const { url } = await browser.upToProvider(host, path);
  assert.ok(url !== null);
  return logIn(world.provider, url, user, browser.jar);
}

function assertNoSession(browser: Browser, host: string, answer: EdgeAnswer): void {
  const set = (answer.headers['set-cookie'] as unknown as string[] | undefined) ?? [];
  assert.ok(!set.some((cookie) => cookie.includes('pstn1.s.')), set.join('\n'));
  assert.equal(cookieOf(world, browser, host, SESSION), '');
  assert.equal(cookieOf(world, browser, host, COMPANION), '');
}

test("login CSRF: another user's code and state, opened by a victim, do not log in", async () => {
  const { host } = await world.site();
  const callback = await unfinished(world.browser(), host, 'bob');
  const victim = world.browser();
  const answer = await victim.open(host, `${callback.pathname}${callback.search}`);
  assertNoSession(victim, host, answer);
  assert.equal(answer.headers['location'], `${world.origin(host)}/.postern/login?to=%2F&go=1&round=1`);
  assert.deepEqual(await sessionsAt(world, host), []);
});

test('login CSRF: a logged-in victim keeps their identity', async () => {
  const { host } = await world.site();
  const victim = world.browser();
  await victim.logIn(host);
  const before = cookieOf(world, victim, host, SESSION);
  const callback = await unfinished(world.browser(), host, 'bob');
  const answer = await victim.open(host, `${callback.pathname}${callback.search}`);
  assert.equal(answer.headers['location'], `${world.origin(host)}/`);
  assert.equal(cookieOf(world, victim, host, SESSION), before);
  assert.equal(await userOf(victim, host), 'alice@example.com');
});

test("state fixation: the attacker's code with the victim's own state is rejected by PKCE and nonce", async () => {
  const { host } = await world.site();
  const attacker = await unfinished(world.browser(), host, 'bob');
  const victim = world.browser();
  const { url } = await victim.upToProvider(host, '/');
  const mixed = new URLSearchParams(attacker.search);
  mixed.set('state', url?.searchParams.get('state') ?? '');
  const answer = await victim.open(host, `/.postern/callback?${mixed.toString()}`);
  assertNoSession(victim, host, answer);
  assert.deepEqual(await sessionsAt(world, host), []);
});

test('state fixation: every login creates its own state, nonce and verifier, whatever the link contains', async () => {
  const { host } = await world.site();
  const seen = new Set<string>();
  for (const path of ['/.postern/login?go=1', '/.postern/login?go=1&state=fixed&nonce=fixed&code_challenge=fixed']) {
    const answer = await world.browser().open(host, path);
    const { searchParams } = new URL(String(answer.headers['location']));
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const value = searchParams.get(name) ?? '';
      assert.ok(value.length >= 43, `${name} has too little in it`);
      seen.add(value);
    }
    assert.equal(searchParams.get('code_challenge_method'), 'S256');
  }
  assert.equal(seen.size, 6);
  assert.ok(!seen.has('fixed'));
});

test('a state is valid once: repeating the callback creates no second session', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const callback = await unfinished(browser, host, 'alice');
  const stolen = browser.jar.copy();
  await browser.open(host, `${callback.pathname}${callback.search}`);
  assert.equal((await sessionsAt(world, host)).length, 1);
  const thief = world.browser();
  thief.jar.store(
    world.origin(host),
    stolen.cookiesFor(`${world.origin(host)}/`).map(({ name, value }) => `${name}=${value}; Path=/; Secure`),
  );
  const answer = await thief.open(host, `${callback.pathname}${callback.search}`);
  assertNoSession(thief, host, answer);
  assert.ok((await sessionsAt(world, host)).length <= 1);
});

test("a callback with another route's state logs in at that route's client only", async () => {
  const site = await world.site();
  await routeOf(world, site, '/other', { client_id: 'other' });
  const browser = world.browser();
  const callback = await unfinished(browser, site.host, 'alice', '/other/page');
  const { url } = await browser.upToProvider(site.host, '/');
  const query = new URLSearchParams(callback.search);
  query.set('state', url?.searchParams.get('state') ?? '');
  const answer = await browser.open(site.host, `/.postern/callback?${query.toString()}`);
  assertNoSession(browser, site.host, answer);
  assert.deepEqual(await sessionsAt(world, site.host), []);
  const right = await browser.open(site.host, `${callback.pathname}${callback.search}`);
  assert.notEqual(right.headers['location'], undefined);
  assert.equal(await userOf(browser, site.host, '/'), null, 'the login of the other client is none here');
});

test("a callback with another host's flow and cookie is invalid here", async () => {
  const one = await world.site();
  const two = await world.site();
  const browser = world.browser();
  const callback = await unfinished(browser, one.host, 'bob');
  const moved = world.browser();
  moved.jar.store(
    world.origin(two.host),
    browser.jar.cookiesFor(`${world.origin(one.host)}/`).map(({ name, value }) => `${name}=${value}; Path=/; Secure`),
  );
  const answer = await moved.open(two.host, `${callback.pathname}${callback.search}`);
  assertNoSession(moved, two.host, answer);
  assert.deepEqual(await sessionsAt(world, two.host), []);
});

test('a callback with the flow and cookie of another host of the same edge and route is invalid here', async () => {
  const [one, two] = ['one.flows.localhost', 'two.flows.localhost'] as const;
  const edgeId = await world.edge.edge(one, two);
  const routePath = await world.edge.route(edgeId, '/');
  for (const host of [one, two]) world.register(host);
  await world.edge.api('PUT', `${routePath}/oidc`, world.module());
  const browser = world.browser();
  const callback = await unfinished(browser, one, 'bob');
  const moved = world.browser();
  moved.jar.store(
    world.origin(two),
    browser.jar.cookiesFor(`${world.origin(one)}/`).map(({ name, value }) => `${name}=${value}; Path=/; Secure`),
  );
  assertNoSession(moved, two, await moved.open(two, `${callback.pathname}${callback.search}`));
});

test('a state that only starts like that of a flow does not match it, and its flow stays', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const callback = await unfinished(browser, host, 'alice', '/wanted');
  const state = callback.searchParams.get('state') ?? '';
  const other = `${state.slice(0, 20)}${state[20] === 'A' ? 'B' : 'A'}${state.slice(21)}`;
  const query = new URLSearchParams(callback.search);
  query.set('state', other);
  const answer = await browser.open(host, `/.postern/callback?${query.toString()}`);
  assertNoSession(browser, host, answer);
  assert.match(String(answer.headers['location']), /login\?to=%2F&go=1/);
  const right = await browser.open(host, `${callback.pathname}${callback.search}`);
  assert.equal(right.headers['location'], `${world.origin(host)}/wanted`);
});

for (const [name, query] of Object.entries({
  'no query': '',
  'an empty state': '?state=&code=x',
  'a state that is none': '?state=..%2f..%2f&code=x',
  'two states': '?state=a&state=b&code=x',
  'a very long state': `?state=${'x'.repeat(4000)}&code=x`,
  'an error without a state': '?error=access_denied&error_description=%3Cscript%3E',
  'line ends in the state': '?state=%0d%0aSet-Cookie:%20x=1&code=x',
})) {
  test(`an unsolicited callback, with ${name}, starts a login and creates no session`, async () => {
    const { host } = await shared;
    const browser = world.browser();
    const answer = await browser.open(host, `/.postern/callback${query}`);
    assertNoSession(browser, host, answer);
    assert.equal(answer.headers['location'], `${world.origin(host)}/.postern/login?to=%2F&go=1&round=1`);
  });
}
const shared = world.site();

test('rejects an authority with an invalid port before it gets into a redirect URI', async () => {
  const { host } = await shared;
  for (const path of ['/.postern/login?go=1', '/.postern/callback?state=x&code=y', '/']) {
    const answer = await world.browser().open(host, path, { headers: { host: `${host}:99999` } });
    assert.equal(answer.status, 400, path);
  }
});
