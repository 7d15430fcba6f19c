import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AskOptions, EdgeAnswer } from '../../support/edge-world.ts';
import { logOut } from '../../support/identity-provider.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, cookieNamesOf, routeOf, sessionsAt, userOf } from './steps.ts';

const world = await LoginWorld.open({ after });
const site = await world.site();
const { host } = site;
const ORIGIN = world.origin(host);
const LOGOUT = '/.postern/logout';

async function loggedIn(): Promise<Browser> {
  const browser = world.browser();
  await browser.logIn(host);
  return browser;
}

function ask(browser: Browser, method: string, headers: Readonly<Record<string, string>>): Promise<EdgeAnswer> {
  const options: AskOptions = { method, headers: { accept: 'text/html', ...headers } };
  return browser.ask(host, LOGOUT, options);
}

const NAVIGATE = { 'sec-fetch-mode': 'navigate' };
const MEANT: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  'a link on this site': ['GET', { ...NAVIGATE, 'sec-fetch-site': 'same-origin' }],
  'a form on this site': ['POST', { ...NAVIGATE, 'sec-fetch-site': 'same-origin', origin: ORIGIN }],
  'the confirmation': ['POST', { ...NAVIGATE, 'sec-fetch-site': 'same-origin', origin: ORIGIN }],
  'fetch on this site': ['POST', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin', origin: ORIGIN }],
  'a program with the cookies': ['POST', {}],
};
for (const [name, [method, headers]] of Object.entries(MEANT)) {
  test(`${name} logs out`, async () => {
    const browser = await loggedIn();
    const answer = await ask(browser, method, headers);
    assert.ok([200, 302].includes(answer.status));
    assert.deepEqual(
      cookieNamesOf(world, browser, host).filter((each) => each.includes('postern')),
      [],
    );
    assertLoginWanted(await browser.open(host));
  });
}

const NOT_MEANT: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  'a link on another site': ['GET', { ...NAVIGATE, 'sec-fetch-site': 'cross-site' }],
  'a link on a sibling': ['GET', { ...NAVIGATE, 'sec-fetch-site': 'same-site' }],
  'the address bar': ['GET', { ...NAVIGATE, 'sec-fetch-site': 'none' }],
  'a GET of a browser that says nothing': ['GET', {}],
  HEAD: ['HEAD', {}],
  'HEAD from here': ['HEAD', { 'sec-fetch-site': 'same-origin' }],
  'an image on this site': [
    'GET',
    { 'sec-fetch-mode': 'no-cors', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'image' },
  ],
  'a prefetched link': ['GET', { ...NAVIGATE, 'sec-fetch-site': 'same-origin', 'sec-purpose': 'prefetch;prerender' }],
  'a form on another site': ['POST', { ...NAVIGATE, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  'a form on a sibling': ['POST', { ...NAVIGATE, 'sec-fetch-site': 'same-site', origin: 'https://evil.localhost' }],
  'a form on another site, in an old browser': ['POST', { origin: 'https://evil.example' }],
  'a form in a sandbox': ['POST', { origin: 'null' }],
  'the same host without TLS': ['POST', { origin: ORIGIN.replace('https', 'http') }],
  'the same host on another port': ['POST', { origin: `https://${host}` }],
  'an origin that begins like ours': ['POST', { origin: `${ORIGIN}.evil.example` }],
};
for (const [name, [method, headers]] of Object.entries(NOT_MEANT)) {
  test(`${name} logs nobody out, but asks for confirmation`, async () => {
    const browser = await loggedIn();
    const answer = await ask(browser, method, headers);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['set-cookie'], undefined);
    assert.match(
      String(answer.headers['content-security-policy']),
      /frame-ancestors 'none'/,
      'nor can it be clicked in a frame',
    );
    if (method !== 'HEAD') assert.match(answer.text, /<form method="post" action="\/\.postern\/logout">/);
    assert.equal(await userOf(browser, host), 'alice@example.com');
  });
}

test('logout continues to the provider with the ID token, and returns to our page', async () => {
  const browser = await loggedIn();
  const answer = await ask(browser, 'GET', { ...NAVIGATE, 'sec-fetch-site': 'same-origin' });
  const url = new URL(String(answer.headers['location']));
  assert.equal(url.origin, world.provider.issuer);
  assert.match(url.searchParams.get('id_token_hint') ?? '', /^eyJ/);
  const back = await logOut(world.provider, url, browser.jar);
  assert.equal(back.href.split('?')[0], `${ORIGIN}/.postern/logout/done`);
  const page = await browser.open(host, back.pathname);
  assert.match(page.text, /You are logged out/);
  const { url: next } = await browser.upToProvider(host);
  assert.notEqual(next, null, 'the provider is asked again');
});

test('tells a program where to end the provider’s own session', async () => {
  const browser = await loggedIn();
  const answer = await browser.ask(host, LOGOUT, { method: 'POST' });
  const { logged_out, end_session_url } = JSON.parse(answer.text);
  assert.equal(logged_out, true);
  assert.ok(end_session_url.startsWith(world.provider.issuer));
});

test('logout deletes the record: the key is dead in every copy, and the API no longer lists it', async () => {
  const other = await world.site();
  const browser = world.browser();
  await browser.logIn(other.host);
  const thief = world.browser();
  thief.jar.store(
    world.origin(other.host),
    browser.jar.cookiesFor(`${world.origin(other.host)}/`).map(({ name, value }) => `${name}=${value}; Path=/; Secure`),
  );
  assert.equal(await userOf(thief, other.host), 'alice@example.com');
  await browser.ask(other.host, LOGOUT, { method: 'POST' });
  assertLoginWanted(await thief.open(other.host));
  assert.deepEqual(await sessionsAt(world, other.host), []);
});

test('logout ends all logins of the browser on the host, and none of other browsers', async () => {
  const two = await world.site();
  await routeOf(world, two, '/other', { client_id: 'other' });
  const [browser, beside] = [world.browser(), world.browser()];
  await browser.logIn(two.host, '/');
  await browser.logIn(two.host, '/other');
  await beside.logIn(two.host, '/');
  await browser.ask(two.host, LOGOUT, { method: 'POST' });
  for (const path of ['/', '/other']) assertLoginWanted(await browser.open(two.host, path));
  assert.equal(await userOf(beside, two.host), 'alice@example.com');
  assert.equal((await sessionsAt(world, two.host)).length, 1);
});

test('a user without login can log out anyway, and forged cookies log nobody out', async () => {
  const stranger = world.browser();
  stranger.jar.store(ORIGIN, `postern.session=pstn1.s.${'A'.repeat(43)}.${'0'.repeat(32)}; Path=/; Secure`);
  const answer = await ask(stranger, 'POST', NAVIGATE);
  assert.equal(answer.headers['location'], `${ORIGIN}/.postern/logout/done`);
  assert.deepEqual(cookieNamesOf(world, stranger, host), []);
});
