import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CookieJar } from '../../support/cookie-jar.ts';
import type { AskOptions, EdgeAnswer } from '../../support/edge-world.ts';
import { denyLogIn, logIn } from '../../support/identity-provider.ts';
import { Browser, LoginWorld } from '../../support/login-world.ts';
import { COMPANION, SESSION, seenIn, sessionsAt } from './steps.ts';

const world = await LoginWorld.open({ after });

/** A browser that does not keep all cookies. */
class PickyBrowser extends Browser {
  readonly #refuses: (name: string) => boolean;
  readonly providerJar = new CookieJar();

  constructor(refuses: (name: string) => boolean) {
    super(world);
    this.#refuses = refuses;
  }

  override async ask(host: string, path: string, options: AskOptions = {}): Promise<EdgeAnswer> {
    const answer = await super.ask(host, path, options);
    for (const { name } of this.jar.cookiesFor(`${world.origin(host)}/`)) {
      if (this.#refuses(name)) this.jar.store(world.origin(host), `${name}=; Max-Age=0; Path=/; Secure`);
    }
    return answer;
  }

  /** Follows every redirect; the provider logs it in each time. Returns the final page. */
  async wander(host: string, path: string): Promise<{ readonly page: EdgeAnswer; readonly logins: number }> {
    let next = path;
    for (let logins = 0; logins < 20; logins += 1) {
      const { url, page } = await this.upToProvider(host, next);
      if (url === null) return { page, logins };
      const callback = await logIn(world.provider, url, 'alice', this.providerJar);
      next = `${callback.pathname}${callback.search}`;
    }
    throw new Error('round and round without end');
  }
}

function assertPage(page: EdgeAnswer, status: number, code: string, words: RegExp): void {
  assert.equal(page.status, status, page.text);
  assert.equal(page.headers['postern-error-code'], code);
  assert.match(page.text, words);
  assert.ok(page.text.includes(String(page.headers['postern-request-id'])), 'the request id is on the page');
}

test('a browser that refuses all cookies gets a page that explains it after three visits to the provider', async () => {
  const { host } = await world.site();
  const { page, logins } = await new PickyBrowser(() => true).wander(host, '/wanted');
  assertPage(page, 400, 'ERR_POSTERN_LOGIN_COOKIES', /does not send the cookie/);
  assert.equal(logins, 3);
  assert.match(page.text, />Try again<\/a>/);
  assert.deepEqual(await sessionsAt(world, host), [], 'and nothing was written');
});

for (const [name, refuses] of [
  ['the session cookie', (each: string) => each === SESSION],
  ['the companion', (each: string) => each === COMPANION],
] as const) {
  test(`a browser that refuses only ${name} gets the page about loops`, async () => {
    const { host } = await world.site();
    const { page, logins } = await new PickyBrowser(refuses).wander(host, '/wanted');
    assertPage(page, 400, 'ERR_POSTERN_LOGIN_LOOP', /several times within a minute/);
    assert.equal(logins, 4);
    assert.match(page.text, /href="\/\.postern\/login\?to=%2Fwanted"/);
  });
}

test('after a minute the loop is forgotten, and with cookies allowed the login works', async (t) => {
  const { host } = await world.site();
  let isPicky = true;
  const browser = new PickyBrowser((name) => isPicky && name === SESSION);
  await browser.wander(host, '/wanted');
  isPicky = false;
  world.clock.advance(61);
  t.after(() => world.clock.advance(-61));
  assert.equal(seenIn((await browser.wander(host, '/wanted')).page).url, '/wanted');
});

test('logging out and in again, five times in a minute, is not a loop', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  for (let turn = 0; turn < 5; turn += 1) {
    assert.equal(seenIn(await browser.logIn(host, '/wanted')).url, '/wanted');
    const out = await browser.ask(host, '/.postern/logout', { method: 'POST' });
    assert.equal(out.status, 200);
  }
});

test('denied at the provider: 403, with advice for users who should and should not have access', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(host, '/wanted');
  const callback = await denyLogIn(world.provider, url as URL, browser.jar);
  const page = await browser.open(host, `${callback.pathname}${callback.search}`);
  assertPage(page, 403, 'ERR_POSTERN_LOGIN_DENIED', /The login was denied/);
  assert.match(page.text, /href="\/\.postern\/login\?to=%2Fwanted"/);
  assert.equal(seenIn(await browser.logIn(host, '/wanted')).url, '/wanted', 'and the next try works');
});

test('an error of the provider: 502, and the log has its text under the id of the page', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(host, '/wanted');
  const query = new URLSearchParams({
    error: 'temporarily_unavailable',
    error_description: 'the moon is in the wrong phase',
    state: url?.searchParams.get('state') ?? '',
    iss: world.provider.issuer,
  });
  const page = await browser.open(host, `/.postern/callback?${query.toString()}`);
  assertPage(page, 502, 'ERR_POSTERN_LOGIN_FAILED', /the response of the identity provider cannot be trusted/);
  const requestId = String(page.headers['postern-request-id']);
  const line = world.edge.world.logLines.find((each) => each.includes(requestId) && each.includes('a login failed'));
  assert.match(line ?? '', /temporarily_unavailable.*the moon is in the wrong phase/);
});

for (const hours of [-2, 2]) {
  test(`a clock that is ${hours} hours off: a page that names the cause`, async (t) => {
    const { host } = await world.site();
    world.clock.advance(hours * 3600);
    t.after(() => world.clock.advance(-hours * 3600));
    const page = await world.browser().logIn(host);
    assertPage(page, 502, 'ERR_POSTERN_LOGIN_FAILED', /clocks of this site and of the identity provider differ/);
  });
}

test('a code that was used elsewhere: the login starts again, and ends at the requested page', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(host, '/wanted');
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  callback.searchParams.set('code', 'spent');
  const answer = await browser.open(host, `${callback.pathname}${callback.search}`);
  assert.equal(answer.headers['location'], `${world.origin(host)}/.postern/login?to=%2Fwanted&go=1&round=1`);
  assert.equal(seenIn(await browser.logIn(host, '/.postern/login?to=%2Fwanted&go=1&round=1')).url, '/wanted');
});
