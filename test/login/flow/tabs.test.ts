import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { logIn } from '../../support/identity-provider.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';
import { askWithCookies, change, cookieNamesOf, seenIn, sessionsAt, userIn, userOf } from './steps.ts';

const world = await LoginWorld.open({ after });

interface Tab {
  readonly path: string;
  readonly url: URL;
}

async function openTab(browser: Browser, host: string, path: string): Promise<Tab> {
  const { url } = await browser.upToProvider(host, path);
  assert.ok(url !== null);
  return { path, url };
}

async function comeBack(browser: Browser, host: string, { url }: Tab): Promise<string> {
  const callback = await logIn(world.provider, url, 'alice', browser.jar);
  const answer = await browser.open(host, `${callback.pathname}${callback.search}`);
  assert.equal(answer.status, 302, answer.text);
  return String(answer.headers['location']);
}

function flows(browser: Browser, host: string): number {
  return cookieNamesOf(world, browser, host).filter((name) => name.includes('-flow-')).length;
}

test('eight concurrent tabs: each finishes separately, at its own page, in any order', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const tabs: Tab[] = [];
  for (let at = 0; at < 8; at += 1) tabs.push(await openTab(browser, host, `/tab/${at}`));
  assert.equal(flows(browser, host), 8);
  for (const at of [3, 0, 7, 5, 1, 6, 2, 4]) {
    const tab = tabs[at] as Tab;
    assert.equal(await comeBack(browser, host, tab), `${world.origin(host)}${tab.path}`);
    assert.equal(await userOf(browser, host, tab.path), 'alice@example.com');
  }
  assert.equal(flows(browser, host), 0);
  assert.equal((await sessionsAt(world, host)).length, 1, 'one new login, not eight');
});

test('a ninth tab drops the oldest flow, and that tab still gets in', async (t) => {
  const { host } = await world.site();
  const browser = world.browser();
  const tabs: Tab[] = [];
  for (let at = 0; at < 9; at += 1) {
    tabs.push(await openTab(browser, host, `/tab/${at}`));
    advance(t, 1);
  }
  assert.equal(flows(browser, host), 8);
  const [oldest, second] = tabs as [Tab, Tab];
  const first = await comeBack(browser, host, oldest);
  assert.match(first, /\/\.postern\/login\?to=%2F&go=1&round=1$/, 'its way back is forgotten, and it begins again');
  assert.equal(await comeBack(browser, host, second), `${world.origin(host)}/tab/1`);
  assert.equal(seenIn(await browser.logIn(host, first.slice(world.origin(host).length))).url, '/');
});

test('flows with long return paths do not fill the request’s head: fewer of them are kept', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  for (let at = 0; at < 8; at += 1) await openTab(browser, host, `/${at}?${'x'.repeat(2000)}`);
  const cookie = browser.jar.header(`${world.origin(host)}/`) ?? '';
  assert.ok(cookie.length < 9000, `${cookie.length} bytes`);
  assert.ok(flows(browser, host) >= 2);
});

test('an expired flow starts again automatically, and ends at the requested page', async (t) => {
  const { host } = await world.site();
  const browser = world.browser();
  const tab = await openTab(browser, host, '/wanted?x=1');
  advance(t, 20 * 60);
  const back = await comeBack(browser, host, tab);
  assert.equal(back, `${world.origin(host)}/.postern/login?to=%2Fwanted%3Fx%3D1&go=1&round=1`);
  assert.equal(flows(browser, host), 0);
  assert.deepEqual(await sessionsAt(world, host), []);
  assert.equal(seenIn(await browser.logIn(host, back.slice(world.origin(host).length))).url, '/wanted?x=1');
});

test('a repeatedly expired flow ends at a page with an explanation, not in a loop', async (t) => {
  const { host } = await world.site();
  const browser = world.browser();
  let path = '/wanted';
  for (let round = 0; round < 2; round += 1) {
    const tab = await openTab(browser, host, path);
    advance(t, 16 * 60);
    path = (await comeBack(browser, host, tab)).slice(world.origin(host).length);
  }
  const tab = await openTab(browser, host, path);
  advance(t, 16 * 60);
  const callback = await logIn(world.provider, tab.url, 'alice', browser.jar);
  const page = await browser.open(host, `${callback.pathname}${callback.search}`);
  assert.equal(page.status, 502);
  assert.match(page.text, /took too long/);
  assert.match(page.text, /href="\/\.postern\/login\?to=%2Fwanted"/);
});

test('the back button or a reload repeats the callback: a logged-in user continues', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const tab = await openTab(browser, host, '/wanted');
  const before = browser.jar.copy();
  const callback = await logIn(world.provider, tab.url, 'alice', browser.jar);
  const target = `${callback.pathname}${callback.search}`;
  await browser.open(host, target);
  const again = await browser.open(host, target);
  assert.equal(again.headers['location'], `${world.origin(host)}/`, 'the flow is gone');
  // The flow's cookie still exists when both requests were in progress together.
  const [flow] = before.cookiesFor(`${world.origin(host)}/`).filter(({ name }) => name.includes('-flow-'));
  browser.jar.store(world.origin(host), `${flow?.name}=${flow?.value}; Path=/; Secure`);
  const third = await browser.open(host, target);
  assert.equal(third.headers['location'], `${world.origin(host)}/wanted`);
  assert.equal(await userOf(browser, host), 'alice@example.com');
});

test('a login in one tab applies to all: the other tab’s login page continues without the provider', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const other = await browser.open(host, '/other');
  await browser.logIn(host, '/one');
  assert.equal(seenIn(await browser.logIn(host, String(other.headers['location']))).url, '/other');
});

test('the module was deleted meanwhile: the callback leads to the page', async () => {
  const site = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(site.host, '/wanted');
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  await change(world, site, { enabled: false });
  const answer = await browser.open(site.host, `${callback.pathname}${callback.search}`);
  // Without login there are no own paths: it is the upstream's.
  assert.equal(seenIn(answer).url, `${callback.pathname}${callback.search}`);
});

function advance(t: TestContext, seconds: number): void {
  world.clock.advance(seconds);
  t.after(() => world.clock.advance(-seconds));
}

test('requests in progress while other tabs logged in, more than once, still count for a while', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const tabs: Tab[] = [];
  for (let at = 0; at < 3; at += 1) tabs.push(await openTab(browser, host, `/tab/${at}`));
  const sent: string[] = [];
  for (const tab of tabs) {
    await comeBack(browser, host, tab);
    sent.push(browser.jar.header(`${world.origin(host)}/`) ?? '');
  }
  assert.equal(new Set(sent).size, 3);
  for (const cookie of sent) assert.equal(userIn(await askWithCookies(world, host, cookie)), 'alice@example.com');
});

test('tabs that return at the same moment leave the browser logged in', async (t) => {
  const { host } = await world.site();
  const browser = world.browser();
  await browser.logIn(host);
  await world.edge.api('DELETE', `/app/sessions/${(await sessionsAt(world, host))[0]?.id}`);
  const tabs = await Promise.all(Array.from({ length: 6 }, (_, at) => openTab(browser, host, `/tab/${at}`)));
  await Promise.all(tabs.map((tab) => comeBack(browser, host, tab)));
  assert.equal(await userOf(browser, host), 'alice@example.com');
  advance(t, 30);
  assert.equal(await userOf(browser, host), 'alice@example.com');
});
