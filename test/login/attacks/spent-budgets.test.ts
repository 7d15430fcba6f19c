import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { Site } from '../../support/edge-world.ts';
import { type Browser, LoginWorld } from '../../support/login-world.ts';

/** Everybody in this test has one address. */
const PER_MINUTE = 5;
const world = await LoginWorld.open({ after }, { env: { POSTERN_LOGIN_ATTEMPTS_PER_ADDRESS: String(PER_MINUTE) } });

/** As `<img src>` of a page elsewhere. */
const IMAGE = {
  'sec-fetch-dest': 'image',
  'sec-fetch-mode': 'no-cors',
  'sec-fetch-site': 'cross-site',
  accept: 'image/*',
};
const OLD_BROWSER = { accept: 'image/*' };

async function guestSite(): Promise<Site> {
  const site = await world.site();
  await world.edge.api('PUT', `${site.routePath}/access`, {
    allow: [{ guests: true }, { claims: { groups: ['staff'] } }],
  });
  return site;
}

function invented(site: Site, at: number, headers: Record<string, string>) {
  return world.browser().ask(site.host, `/.postern/guest?link=invented${at}`, { headers });
}

/** A callback with an invented code. */
async function failedLogin(site: Site, browser: Browser = world.browser()) {
  const { url } = await browser.upToProvider(site.host, '/');
  const query = new URLSearchParams({
    code: 'made-up',
    state: url?.searchParams.get('state') ?? '',
    iss: world.provider.issuer,
  });
  return browser.open(site.host, `/.postern/callback?${query.toString()}`);
}

async function isLimited(site: Site): Promise<boolean> {
  return (await failedLogin(site)).headers['postern-error-code'] === 'ERR_POSTERN_LOGIN_RATE_LIMITED';
}

suite('a web page that opens invented guest links as images', () => {
  test('spends nothing, and is not answered about the links', async () => {
    const site = await guestSite();
    for (let at = 0; at < 3 * PER_MINUTE; at += 1) {
      const answer = await invented(site, at, IMAGE);
      assert.deepEqual(
        [answer.status, answer.headers['postern-error-code']],
        [403, 'ERR_POSTERN_GUEST_LINK_CROSS_SITE'],
      );
    }
    const person = await invented(site, 0, { accept: 'text/html', 'sec-fetch-dest': 'document' });
    assert.equal(person.headers['postern-error-code'], 'ERR_POSTERN_GUEST_LINK_UNKNOWN');
  });

  test('in an old browser blocks no login from the same address', async () => {
    const site = await guestSite();
    let last = 0;
    for (let at = 0; at < 3 * PER_MINUTE; at += 1) last = (await invented(site, at, OLD_BROWSER)).status;
    assert.equal(last, 429);
    assert.equal((await world.browser().logIn(site.host, '/', 'alice')).status, 200);
  });
});

suite('somebody whose logins fail at the address of others', () => {
  test('locks out neither a logged-in browser nor one whose login is over', async () => {
    const site = await world.site({ maximum_duration: 3600 });
    const [loggedIn, over] = [world.browser(), world.browser()];
    assert.equal((await over.logIn(site.host, '/', 'alice')).status, 200);
    const { application_sessions: sessions } = await world.edge.api('GET', '/app/sessions');
    for (const { id } of sessions) await world.edge.api('DELETE', `/app/sessions/${id}`);
    assert.equal((await loggedIn.logIn(site.host, '/', 'bob')).status, 200);
    // The credit of the address that the logins have earned is spent first.
    for (let tries = 0; !(await isLimited(site)); tries += 1) assert.ok(tries < 50, 'failures are limited');
    assert.equal((await over.logIn(site.host, '/', 'alice')).status, 200, 'with the cookie of an ended login');
    const other = await world.site();
    const again = await loggedIn.logIn(other.host, '/', 'bob');
    assert.equal(again.status, 200);
  });

  test('cannot use an earlier login to fail without limit', async () => {
    const site = await world.site();
    const browser = world.browser();
    assert.equal((await browser.logIn(site.host, '/', 'alice')).status, 200);
    const { application_sessions: sessions } = await world.edge.api('GET', '/app/sessions');
    for (const { id } of sessions) await world.edge.api('DELETE', `/app/sessions/${id}`);
    for (let at = 0; at < 50; at += 1) {
      const answer = await failedLogin(site, browser);
      if (answer.headers['postern-error-code'] === 'ERR_POSTERN_LOGIN_RATE_LIMITED') return;
    }
    assert.fail('a browser with an old login fails without limit');
  });
});
