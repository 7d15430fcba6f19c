import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LoginWorld } from '../../support/login-world.ts';
import { assertLoginWanted, change, routeOf, userOf } from '../flow/steps.ts';

const world = await LoginWorld.open({ after });
const ALICE = 'alice@example.com';

async function askedOf(host: string, path = '/'): Promise<Record<string, string>> {
  const { url } = await world.browser().upToProvider(host, path);
  const sent = Object.fromEntries(url?.searchParams ?? []);
  const names = ['prompt', 'max_age', 'acr_values', 'access_type'];
  return Object.fromEntries(Object.entries(sent).filter(([name]) => names.includes(name)));
}

test('login_parameters: nothing is sent by default, and everything that is set', async () => {
  const site = await world.site();
  assert.deepEqual(await askedOf(site.host), {});
  const login_parameters = { prompt: 'login', max_age: 60, acr_values: ['gold', 'silver'], access_type: 'offline' };
  await change(world, site, { login_parameters });
  assert.deepEqual(await askedOf(site.host), {
    prompt: 'login',
    max_age: '60',
    acr_values: 'gold silver',
    access_type: 'offline',
  });
  const stored = await world.edge.api('GET', `${site.routePath}/oidc`);
  assert.deepEqual(stored['login_parameters'], login_parameters);
  await change(world, site, { login_parameters: { max_age: 0 } });
  assert.deepEqual(await askedOf(site.host), {});
  await change(world, site, {});
  const { login_parameters: gone } = await world.edge.api('GET', `${site.routePath}/oidc`);
  assert.equal(gone, undefined, 'absent unless it is sent');
});

test('login_parameters: a switch of the account asks for no less', async () => {
  const { host } = await world.site({ login_parameters: { prompt: 'consent', max_age: 60 } });
  const asked = await askedOf(host, '/.postern/login?to=%2F&go=1&switch=1');
  assert.deepEqual(asked, { prompt: 'consent login', max_age: '60' });
});

for (const login_parameters of [
  { prompt: 'none' },
  { prompt: 'login; drop' },
  { max_age: -1 },
  { max_age: 1.5 },
  { acr_values: ['two words'] },
  { access_type: 'both' },
  { ui_locales: 'de' },
]) {
  test(`login_parameters: rejects ${JSON.stringify(login_parameters)}`, async () => {
    const site = await world.site();
    await assert.rejects(change(world, site, { login_parameters }), /400/);
  });
}

test('a login for one route does not count on a route that asks for a new one, and the reverse does', async () => {
  const site = await world.site();
  await routeOf(world, site, '/admin', { login_parameters: { prompt: 'login', max_age: 300 } });
  const browser = world.browser();
  await browser.logIn(site.host);
  assert.equal(await userOf(browser, site.host), ALICE);
  assertLoginWanted(await browser.open(site.host, '/admin'));
  assert.equal(await userOf(browser, site.host), ALICE, 'the login of the other route continues');
  await browser.logIn(site.host, '/admin');
  assert.equal(await userOf(browser, site.host, '/admin'), ALICE);
  assert.equal(await userOf(browser, site.host), ALICE);
});
