import assert from 'node:assert/strict';
import { after, afterEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { openWebSocket } from '../support/edge-websocket.ts';
import { LoginWorld, type Seen } from '../support/login-world.ts';
import { isLong } from '../support/share-of-cases.ts';

const REQUESTS = isLong ? 200 : 40;

const world = await LoginWorld.open({ after }, { provider: { accessTokenTtlS: 60, refreshTokens: 'always' } });
/** Without refresh tokens: this provider's clock stands still, and ID tokens of a refresh would be of another day. */
const unrefreshed = await LoginWorld.open(
  { after },
  { env: { POSTERN_LOGIN_MAXIMUM_DURATION: '0', POSTERN_LOGIN_INACTIVITY_TIMEOUT: '0' } },
);
const echoes = new WebSocketServer({ server: world.upstream });
echoes.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));

afterEach(() => {
  world.clock.reset();
  unrefreshed.clock.reset();
});

/** Resolves when the socket has closed; fails after two seconds, twice what is promised. */
async function closed(socket: WebSocket): Promise<void> {
  if (socket.readyState === socket.CLOSED) return;
  const gone = new Promise<'closed'>((resolve) => socket.once('close', () => resolve('closed')));
  assert.equal(await Promise.race([gone, sleep(2000, 'still open' as const, { ref: false })]), 'closed');
}

async function echoed(socket: WebSocket, text: string): Promise<void> {
  const answer = new Promise<string>((resolve) => socket.once('message', (data: Buffer) => resolve(data.toString())));
  socket.send(text);
  assert.equal(await answer, text);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
async function sessionsOf(routeId: string): Promise<any[]> {
  const { application_sessions: all } = await world.edge.api('GET', '/app/sessions?limit=100');
  return all.filter((session: { route: { id: string } }) => session.route.id === routeId);
}

suite('how long a login lasts', () => {
  test('maximum_duration ends it however much it is used, and the current limit applies', async () => {
    const site = await unrefreshed.site({ maximum_duration: 100 });
    const browser = unrefreshed.browser();
    assert.equal((await browser.logIn(site.host)).status, 200);
    unrefreshed.clock.advance(60);
    assert.equal((await browser.open(site.host)).status, 200);
    await unrefreshed.protect(site, { maximum_duration: 50 });
    assert.equal((await browser.open(site.host)).status, 302);
    await unrefreshed.protect(site, { maximum_duration: 4_294_967_295 });
    assert.equal((await browser.open(site.host)).status, 302, 'what has ended does not come back');
    assert.equal((await browser.logIn(site.host)).status, 200);
    unrefreshed.clock.advance(10 * 86_400);
    assert.equal((await browser.open(site.host)).status, 200);
  });

  test('inactivity_timeout counts from the last request', async () => {
    const { host } = await world.site({ inactivity_timeout: 100 });
    const browser = world.browser();
    await browser.logIn(host);
    for (let round = 0; round < 3; round += 1) {
      world.clock.advance(90);
      assert.equal((await browser.open(host)).status, 200);
    }
    world.clock.advance(101);
    assert.equal((await browser.open(host)).status, 302);
  });

  test('0 means no limit where the settings have none', async () => {
    const { host } = await unrefreshed.site();
    const browser = unrefreshed.browser();
    await browser.logIn(host);
    unrefreshed.clock.advance(80 * 86_400);
    assert.equal((await browser.open(host)).status, 200);
  });

  test('bytes on a WebSocket are activity, and silence is not', async () => {
    const { host } = await world.site({ inactivity_timeout: 100 });
    const browser = world.browser();
    await browser.logIn(host);
    const socket = await openWebSocket(world, browser, host);
    for (let round = 0; round < 3; round += 1) {
      world.clock.advance(60);
      await echoed(socket, `round ${round}`);
      await sleep(700);
    }
    assert.equal((await browser.open(host)).status, 200);
    world.clock.advance(101);
    await closed(socket);
  });
});

suite('ending a login', () => {
  test('deleting the session through the API cuts its WebSocket, and no other', async () => {
    const { host, routeId } = await world.site();
    const [alice, bob] = [world.browser(), world.browser()];
    await alice.logIn(host, '/', 'alice');
    await bob.logIn(host, '/', 'bob');
    const [hers, his] = [await openWebSocket(world, alice, host), await openWebSocket(world, bob, host)];
    await echoed(hers, 'before');
    const sessions = await sessionsOf(routeId);
    assert.equal(sessions.length, 2);
    const users = await world.edge.api('GET', '/app/users');
    const aliceId = users.application_users.find((user: { username: string; email: string }) =>
      user.email.startsWith('alice'),
    ).id;
    const session = sessions.find((each) => each.application_user.id === aliceId);
    await world.edge.api('DELETE', `/app/sessions/${session.id}`);
    assert.equal((await alice.open(host)).status, 302, 'the next request, without waiting');
    await closed(hers);
    await echoed(his, 'still there');
    assert.equal((await bob.open(host)).status, 200);
    his.close();
  });

  test('deleting the user ends all of their sessions', async () => {
    const first = await world.site();
    const second = await world.site();
    const browser = world.browser();
    await browser.logIn(first.host, '/', 'bob');
    await browser.logIn(second.host, '/', 'bob');
    const [{ application_user: user }] = await sessionsOf(first.routeId);
    await world.edge.api('DELETE', `/app/users/${user.id}`);
    assert.equal((await browser.open(first.host)).status, 302);
    assert.equal((await browser.open(second.host)).status, 302);
    assert.deepEqual(await sessionsOf(first.routeId), []);
  });

  test('logout ends the session here and continues to the provider', async () => {
    const { host, routeId } = await world.site();
    const browser = world.browser();
    await browser.logIn(host);
    const stolen = browser.jar.header(world.origin(host));
    const answer = await browser.open(host, '/.postern/logout', {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    assert.equal(answer.status, 302, answer.text);
    const target = new URL(String(answer.headers['location']));
    assert.equal(target.origin, world.provider.issuer);
    assert.ok(target.searchParams.has('id_token_hint'));
    assert.equal(target.searchParams.get('post_logout_redirect_uri'), `${world.origin(host)}/.postern/logout/done`);
    assert.equal(browser.jar.get(world.origin(host), 'postern.session'), undefined);
    assert.deepEqual(await sessionsOf(routeId), []);
    const withStolen = await world.edge.ask(host, '/', {
      rejectUnauthorized: false,
      headers: { cookie: stolen ?? '', accept: 'text/html' },
    });
    assert.equal(withStolen.status, 302);
  });

  test('the provider ends it by back-channel logout', async () => {
    const { host } = await world.site();
    const browser = world.browser();
    await browser.logIn(host, '/', 'alice');
    // The provider knows one address of the client: the first registered host.
    const socket = await openWebSocket(world, browser, host);
    await world.provider.endSessions('alice');
    assert.equal((await browser.open(host)).status, 302);
    await closed(socket);
  });
});

function refreshes(): number {
  return world.provider.requests.tokenRequests.filter(({ grantType }) => grantType === 'refresh_token').length;
}

suite('tokens', () => {
  test(`${REQUESTS} requests at the moment of expiry make one refresh, and nobody is logged out`, async () => {
    const { host } = await world.site({ scopes: ['email', 'offline_access'] });
    const browser = world.browser();
    await browser.logIn(host);
    const before = refreshes();
    world.clock.advance(61);
    const answers = await Promise.all(Array.from({ length: REQUESTS }, () => browser.open(host)));
    assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
    assert.equal(refreshes() - before, 1);
    world.clock.advance(61);
    assert.equal((await browser.open(host)).status, 200, 'the rotated token works');
    assert.equal(refreshes() - before, 2);
  });

  test('a provider that no longer renews ends the login', async () => {
    const { host } = await world.site({ scopes: ['email', 'offline_access'] });
    const browser = world.browser();
    await browser.logIn(host, '/', 'bob');
    world.provider.revokeGrants('bob');
    world.clock.advance(61);
    assert.equal((await browser.open(host)).status, 302);
  });
});

suite('a stopped provider', () => {
  test('live sessions continue, new logins get a message, and it recovers automatically', async () => {
    const { host } = await world.site({ scopes: ['email', 'offline_access'] });
    const browser = world.browser();
    await browser.logIn(host);
    await world.provider.stop();
    world.clock.advance(3700);
    const page = await browser.open(host);
    assert.equal(page.status, 200, 'although its tokens could not be renewed');
    const fresh = await world.site({ issuer: world.provider.issuer.replace('127.0.0.1', 'localhost') });
    const refused = await world.browser().upToProvider(fresh.host);
    assert.equal(refused.page.status, 502);
    assert.equal(refused.page.headers['postern-error-code'], 'ERR_POSTERN_PROVIDER_UNAVAILABLE');
    await world.provider.start();
    world.clock.reset();
    assert.equal((await world.browser().logIn(host)).status, 200);
  });
});

test('one login per host: another host of the provider asks again, and shows the user', async () => {
  const { host } = await world.site();
  const page = await world.browser().logIn(host, '/who', 'bob');
  const seen = JSON.parse(page.text) as Seen;
  assert.equal(seen.headers['postern-auth-user-email'], 'bob@example.com');
  assert.match(String(seen.headers['postern-auth-user-id']), /^au_/);
});
