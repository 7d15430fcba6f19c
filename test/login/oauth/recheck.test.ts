import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ProviderName } from '../../../src/modules/oauth/provider-definition.ts';
import { openWebSocket } from '../../support/edge-websocket.ts';
import { assertLoginWanted, seenIn } from '../flow/steps.ts';
import { person } from './fake-providers.ts';
import { OauthWorld } from './oauth-world.ts';

const world = await OauthWorld.open({ after });
const { login, fakes } = world;
const echoes = new WebSocketServer({ server: login.upstream });
echoes.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
beforeEach(() => {
  fakes.person = person({ teams: ['acme/ops'] });
  fakes.isDown = false;
});
afterEach(() => login.clock.reset());

const CHECKED = { auth_check_interval: 60 };

/** Bytes are sent until the socket closes: each is a use, at which the login may be checked. */
async function closedWhileUsed(socket: WebSocket): Promise<void> {
  const timer = setInterval(() => socket.send('x'), 100);
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  clearInterval(timer);
}

test('a member who is removed loses the stream and the page at the next check, and not before', async () => {
  const { host } = await world.site('github', { organizations: ['acme'] }, CHECKED);
  const browser = login.browser();
  assert.equal((await world.logIn(browser, host)).status, 200);
  const socket = await openWebSocket(login, browser, host);
  fakes.person.organizations = [];
  assert.equal((await browser.open(host)).status, 200, 'before the interval has passed');
  login.clock.advance(61);
  await closedWhileUsed(socket);
  const page = await browser.open(host);
  assert.equal(page.status, 403);
  assert.equal(page.headers['postern-error-code'], 'ERR_POSTERN_OAUTH_DENIED');
  fakes.person.organizations = ['acme'];
  login.clock.advance(61);
  assert.equal((await browser.open(host)).status, 200, 'a member again');
});

test('access rules are evaluated with the claims of a check at once, and cut the stream', async () => {
  const site = await world.site('github', { scopes: ['user:email', 'read:org'] }, CHECKED);
  await login.edge.api('PUT', `${site.routePath}/access`, { allow: [{ claims: { teams: ['acme/ops'] } }] });
  const browser = login.browser();
  assert.equal((await world.logIn(browser, site.host)).status, 200);
  const socket = await openWebSocket(login, browser, site.host);
  fakes.person.teams = ['acme/other'];
  login.clock.advance(61);
  await closedWhileUsed(socket);
  const page = await browser.open(site.host);
  assert.equal(page.headers['postern-error-code'], 'ERR_POSTERN_ACCESS_DENIED');
});

test('an interval of 0 asks only at the login', async () => {
  const { host } = await world.site('github', { organizations: ['acme'] });
  const browser = login.browser();
  await world.logIn(browser, host);
  fakes.person.organizations = [];
  const before = fakes.requests.length;
  login.clock.advance(86_400);
  assert.equal((await browser.open(host)).status, 200);
  assert.equal(fakes.requests.length, before);
});

for (const provider of ['gitlab', 'google', 'microsoft', 'twitch', 'amazon'] as const satisfies ProviderName[]) {
  test(`${provider}: a check with an ended access token uses the refresh token, and the new name arrives`, async () => {
    const { host } = await world.site(provider, {}, CHECKED);
    const browser = login.browser();
    await world.logIn(browser, host);
    for (const name of ['Ana Second', 'Ana Third']) {
      fakes.endAccessTokens();
      fakes.person.name = name;
      login.clock.advance(61);
      const { headers } = seenIn(await browser.open(host));
      assert.equal(headers['postern-auth-user-name'], name);
    }
    fakes.endEverything();
    login.clock.advance(61);
    assertLoginWanted(await browser.open(host));
  });
}

for (const provider of ['github', 'linkedin', 'facebook'] as const satisfies ProviderName[]) {
  test(`${provider}: the login ends when the provider no longer accepts its token`, async () => {
    const { host } = await world.site(provider, {}, CHECKED);
    const browser = login.browser();
    await world.logIn(browser, host);
    login.clock.advance(61);
    assert.equal((await browser.open(host)).status, 200, 'while it does');
    fakes.endEverything();
    login.clock.advance(61);
    assertLoginWanted(await browser.open(host));
  });
}

test('a provider that is down ends no login', async () => {
  const { host } = await world.site('github', { organizations: ['acme'] }, CHECKED);
  const browser = login.browser();
  await world.logIn(browser, host);
  fakes.isDown = true;
  login.clock.advance(61);
  assert.equal((await browser.open(host)).status, 200);
});

test('many requests at once make one check', async () => {
  const { host } = await world.site('github', {}, CHECKED);
  const browser = login.browser();
  await world.logIn(browser, host);
  login.clock.advance(61);
  const before = fakes.requests.length;
  const answers = await Promise.all(Array.from({ length: 50 }, () => browser.open(host)));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.deepEqual(fakes.requests.slice(before), ['GET /github/api/user', 'GET /github/api/user/emails']);
});
