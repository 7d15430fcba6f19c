import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStoreOutage } from '../../src/kit/error-text.ts';
import { storeErrors } from '../../src/store/errors.ts';
import type { EdgeAnswer } from '../support/edge-world.ts';
import { HostileSite } from './hostile/hostile-site.ts';

function assertAway(answer: EdgeAnswer, what: string): void {
  assert.deepEqual(
    [answer.status, answer.headers['postern-error-code']],
    [503, 'ERR_POSTERN_LOGIN_UNAVAILABLE'],
    `${what}: ${answer.text}`,
  );
  assert.match(String(answer.headers['retry-after']), /^\d+$/, what);
}

test('without its store, login returns 503 and changes nothing, and known users continue', async (t) => {
  const site = await HostileSite.open(t);
  const { world, provider } = site;
  const known = await site.logIn();
  const expired = await site.logIn();
  const visitor = world.browser();
  const callback = await site.authorized(visitor);
  const redeemed = site.tokenRequests('authorization_code');
  await world.edge.world.store.close();

  assert.equal((await site.open(known)).status, 200, 'who is in memory');
  assertAway(await visitor.open(site.host, callback), 'the callback');
  assert.equal(site.tokenRequests('authorization_code'), redeemed, 'the code is not spent');
  const page = await visitor.open(site.host, callback);
  assert.match(page.text, /database of this site cannot be reached/);
  assert.equal(page.headers['set-cookie'], undefined, 'the login in progress stays valid');

  const logout = { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } };
  assertAway(await known.open(site.host, '/.postern/logout', logout), 'logout');
  assert.equal((await site.open(known)).status, 200, 'not logged out by half');

  const body = new URLSearchParams({ logout_token: await provider.logoutToken() }).toString();
  assertAway(
    await world.browser().ask(site.host, '/.postern/backchannel-logout', { method: 'POST', body }),
    'back-channel',
  );

  const asked = site.tokenRequests('refresh_token');
  world.clock.advance(301);
  assert.equal((await site.open(expired)).status, 200, 'a refresh that cannot be claimed is put off');
  assert.equal(site.tokenRequests('refresh_token'), asked, 'and not made: another process might make it too');
  world.clock.advance(25 * 3600);
  assert.equal((await site.open(expired)).status, 302, 'but not for longer than login_outage_hours');
});

test('a full store is an outage, a damaged one is not', () => {
  assert.equal(isStoreOutage(storeErrors.create('ERR_POSTERN_STORE_FULL', 'full')), true);
  assert.equal(isStoreOutage(storeErrors.create('ERR_POSTERN_STORE_CORRUPT', 'odd')), false);
  assert.equal(isStoreOutage(new Error('a bug')), false);
});
