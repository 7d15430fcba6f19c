import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { IdentityProvider, logIn } from '../../support/identity-provider.ts';
import { CLIENT_ID, CLIENT_SECRET, LoginWorld } from '../../support/login-world.ts';
import {
  assertLoginWanted,
  change,
  cookieOf,
  routeOf,
  SESSION,
  seenIn,
  sessionsAt,
  userIn,
  userOf,
} from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const ALICE = 'alice@example.com';

async function eventually<Value>(ask: () => Promise<Value>, isDone: (value: Value) => boolean): Promise<Value> {
  for (let tries = 0; ; tries += 1) {
    const value = await ask();
    if (isDone(value) || tries === 200) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('issuer: the login goes to it, and a change ends the logins at the old one', async () => {
  const site = await world.site();
  const { host } = site;
  const browser = world.browser();
  await browser.logIn(host);
  assert.equal((await sessionsAt(world, host)).length, 1);
  const second = await IdentityProvider.open({ after });
  second.setClients([
    { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [`${world.origin(host)}/.postern/callback`] },
  ]);
  await change(world, site, { issuer: second.issuer });
  assertLoginWanted(await browser.open(host));
  assert.deepEqual(
    await eventually(
      () => sessionsAt(world, host),
      (list) => list.length === 0,
    ),
    [],
  );
  const { url } = await browser.upToProvider(host);
  assert.equal(url?.origin, second.issuer);
  await change(world, site, {});
  assertLoginWanted(await browser.open(host));
});

test('issuer: an unreachable one gives a page that says so, and 502', async () => {
  const { host } = await world.site({ issuer: 'http://127.0.0.1:9' });
  const { page } = await world.browser().upToProvider(host, '/wanted');
  assert.equal(page.status, 502);
  assert.match(page.text, /identity provider cannot be reached/);
  assert.match(page.text, /href="\/\.postern\/login\?to=%2Fwanted"/);
});

test('client_id: sent to the provider, and a change ends the logins of the old one', async () => {
  const site = await world.site();
  const { host } = site;
  const browser = world.browser();
  const { url } = await browser.upToProvider(host);
  assert.equal(url?.searchParams.get('client_id'), CLIENT_ID);
  await browser.logIn(host);
  await change(world, site, { client_id: 'other' });
  assertLoginWanted(await browser.open(host));
  assert.deepEqual(
    await eventually(
      () => sessionsAt(world, host),
      (list) => list.length === 0,
    ),
    [],
  );
  await change(world, site, {});
  assertLoginWanted(await browser.open(host));
  await browser.logIn(host);
  assert.equal(await userOf(browser, host), ALICE);
});

test('client_id: a login whose client another route of the edge still has does not open this one', async () => {
  const site = await world.site();
  await routeOf(world, site, '/kept', {});
  const browser = world.browser();
  await browser.logIn(site.host);
  await change(world, site, { client_id: 'other' });
  assertLoginWanted(await browser.open(site.host));
  assert.equal(await userOf(browser, site.host, '/kept'), ALICE);
  assert.equal((await sessionsAt(world, site.host)).length, 1);
});

test('client_id: a flow in progress when it changes starts again and ends at the requested page', async () => {
  const site = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(site.host, '/wanted?x=1');
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  await change(world, site, { client_id: 'other' });
  const asked = world.provider.requests.tokenRequests.length;
  const back = await browser.open(site.host, `${callback.pathname}${callback.search}`);
  assert.equal(back.headers['location'], `${world.origin(site.host)}/.postern/login?to=%2Fwanted%3Fx%3D1&go=1&round=1`);
  assert.equal(cookieOf(world, browser, site.host, SESSION), '');
  assert.equal(world.provider.requests.tokenRequests.length, asked, 'the code is not sent as another client');
  assert.equal(seenIn(await browser.logIn(site.host, '/wanted?x=1')).url, '/wanted?x=1');
});

test('client_secret: sessions survive a change; a wrong one fails the login with a message and a log line', async () => {
  const site = await world.site();
  const { host } = site;
  const browser = world.browser();
  await browser.logIn(host);
  await change(world, site, { client_secret: 'not-the-secret-0123456789' });
  assert.equal(await userOf(browser, host), ALICE);
  const page = await world.browser().logIn(host, '/', 'bob');
  assert.equal(page.status, 502);
  assert.match(page.text, /not configured correctly/);
  const requestId = String(page.headers['postern-request-id']);
  assert.ok(page.text.includes(requestId));
  const line = world.edge.world.logLines.find((each) => each.includes(requestId) && each.includes('a login failed'));
  assert.match(line ?? '', /check client_id and client_secret/);
  await change(world, site, {});
  assert.equal(await userOf(browser, host), ALICE);
  assert.equal(userIn(await world.browser().logIn(host, '/', 'bob')), 'bob@example.com');
});

test('client_secret: empty is a public client, protected by PKCE alone', async () => {
  const site = await world.site({ client_id: 'public', client_secret: '' });
  const redirect_uris = [`${world.origin(site.host)}/.postern/callback`];
  world.provider.setClients([{ client_id: 'public', token_endpoint_auth_method: 'none', redirect_uris }]);
  const before = world.provider.requests.tokenRequests.length;
  assert.equal(userIn(await world.browser().logIn(site.host)), ALICE);
  const asked = world.provider.requests.tokenRequests.slice(before);
  assert.deepEqual(asked, [{ grantType: 'authorization_code', clientId: 'public', error: null }]);
});
