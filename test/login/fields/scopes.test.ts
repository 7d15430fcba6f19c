import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, change, seenIn, userOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });

async function askedScopes(host: string): Promise<string | null> {
  const { url } = await world.browser().upToProvider(host);
  return url?.searchParams.get('scope') ?? null;
}

test('scopes: openid is always requested, once, and the others unchanged', async () => {
  const site = await world.site({ scopes: [] });
  assert.equal(await askedScopes(site.host), 'openid');
  await change(world, site, { scopes: ['email', 'profile'] });
  assert.equal(await askedScopes(site.host), 'openid email profile');
  await change(world, site, { scopes: ['email', 'openid'] });
  assert.equal(await askedScopes(site.host), 'openid email');
});

test('scopes: the upstream does not get what was not requested', async () => {
  const { host } = await world.site({ scopes: [] });
  const { headers } = seenIn(await world.browser().logIn(host));
  assert.equal(headers['postern-auth-user-email'], undefined);
  assert.match(String(headers['postern-auth-user-id']), /^au_/);
});

test('scopes: an added one needs a new login, a removed one does not', async () => {
  const site = await world.site({ scopes: ['email'] });
  const { host } = site;
  const browser = world.browser();
  await browser.logIn(host);
  await change(world, site, { scopes: [] });
  assert.equal(await userOf(browser, host), 'alice@example.com');
  await change(world, site, { scopes: ['openid', 'email'] });
  assert.equal(await userOf(browser, host), 'alice@example.com', 'openid was asked for all along');
  await change(world, site, { scopes: ['email', 'profile'] });
  assertLoginWanted(await browser.open(host));
  const { headers } = seenIn(await browser.logIn(host));
  assert.equal(headers['postern-auth-user-name'], 'Alice Example');
});

test("scopes: the maximum number of scopes and a long return path still fit the flow's cookie", async () => {
  const scopes = ['email', ...Array.from({ length: 99 }, (_, at) => `https://example.com/auth/a.scope.${at}`)];
  const { host } = await world.site({ scopes });
  const browser = world.browser();
  const wanted = `/${'x'.repeat(2000)}`;
  const { url, page } = await browser.upToProvider(host, wanted);
  assert.notEqual(url, null);
  const set = page.headers['set-cookie'] as unknown as string[];
  const [pair = ''] = (set[0] ?? '').split(';');
  // RFC 6265bis §5.7: browsers reject more than 4096 bytes of name and value.
  assert.ok(pair.length <= 4096, `${pair.length} bytes`);
  assert.equal(url?.searchParams.get('scope'), `openid ${scopes.join(' ')}`);
});
