import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { logIn } from '../../support/identity-provider.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, change, cookieNamesOf, seenIn, userOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });

function sessionNames(browser: ReturnType<LoginWorld['browser']>, host: string): readonly string[] {
  return cookieNamesOf(world, browser, host).filter((name) => name.endsWith('session'));
}

test('cookie_prefix: the default is "postern.", and the cookies have the required attributes', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  const { url } = await browser.upToProvider(host);
  const callback = await logIn(world.provider, url as URL, 'alice', browser.jar);
  const answer = await browser.open(host, `${callback.pathname}${callback.search}`);
  const set = (answer.headers['set-cookie'] as unknown as string[]).filter((line) => line.includes('session='));
  assert.deepEqual(
    set.map((line) => line.split('=')[0]),
    ['postern.session', '__Host-postern.session'],
  );
  for (const line of set) {
    const attributes = line.split('; ').slice(1);
    assert.deepEqual(
      attributes.filter((each) => !each.startsWith('Max-Age=')),
      ['Path=/', 'Secure', 'HttpOnly', 'SameSite=Lax'],
    );
    assert.doesNotMatch(line, /domain/i, 'host-only');
  }
});

for (const prefix of ['acme_', '__Host-', '__Secure-', "!#$%&'*+-.^_`|~", 'p'.repeat(128)]) {
  test(`cookie_prefix: ${prefix.slice(0, 20)}`, async () => {
    const { host } = await world.site({ cookie_prefix: prefix });
    const browser = world.browser();
    const seen = seenIn(await browser.logIn(host));
    assert.deepEqual(sessionNames(browser, host), [`${prefix}session`, `__Host-${prefix}session`]);
    assert.equal(seen.headers.cookie, undefined);
    assert.equal(await userOf(browser, host), 'alice@example.com');
  });
}

test('cookie_prefix: after a change users log in again, and the old cookies are still kept from the upstream', async () => {
  const site = await world.site();
  const { host } = site;
  const browser = world.browser();
  await browser.logIn(host);
  await change(world, site, { cookie_prefix: 'new.' });
  assertLoginWanted(await browser.open(host));
  browser.jar.store(world.origin(host), 'theirs=1; Path=/');
  const seen = seenIn(await browser.logIn(host));
  assert.equal(seen.headers.cookie, 'theirs=1');
  assert.ok(sessionNames(browser, host).includes('postern.session'), 'the old one is still sent by the browser');
  assert.ok(sessionNames(browser, host).includes('new.session'));
  await browser.ask(host, '/.postern/logout', { method: 'POST' });
  assert.deepEqual(sessionNames(browser, host), [], 'logging out ends the old one too');
  await change(world, site, {});
  assertLoginWanted(await browser.open(host));
});
