import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { LoginWorld, type Seen } from '../support/login-world.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a restart logs nobody out, and loses only seconds of activity', async (t) => {
  const dataDir = await tempDir(t);
  const world = await LoginWorld.open(t, { dataDir });
  const { host } = await world.site({ inactivity_timeout: 1000 });
  const browser = world.browser();
  await browser.logIn(host);
  world.clock.advance(900);
  assert.equal((await browser.open(host)).status, 200);
  const cookie = browser.jar.header(world.origin(host)) ?? '';
  await world.edge.world.close();

  const again = await EdgeWorld.open(t, {}, { dataDir, clock: world.clock });
  world.clock.advance(900);
  const page = await again.ask(host, '/', { headers: { cookie }, rejectUnauthorized: false });
  assert.equal(page.status, 200, page.text);
  assert.equal((JSON.parse(page.text) as Seen).headers['postern-auth-user-email'], 'alice@example.com');
  world.clock.advance(1001);
  assert.equal(await again.status(host, '/', { headers: { cookie }, rejectUnauthorized: false }), 401);
});

test('another secret key than that of the cookies admits nobody, and breaks nothing', async (t) => {
  const world = await LoginWorld.open(t);
  const { host } = await world.site();
  const browser = world.browser();
  await browser.logIn(host);
  const cookie = browser.jar.header(world.origin(host)) ?? '';
  const other = await LoginWorld.open(t, { env: { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') } });
  const site = await other.site();
  assert.equal(await other.edge.status(site.host, '/', { headers: { cookie } }), 401);
});
