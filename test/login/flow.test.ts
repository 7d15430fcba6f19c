import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoginWorld, type Seen } from '../support/login-world.ts';

test('a first visit goes to the provider and returns to the requested page, and the second passes directly', async (t) => {
  const world = await LoginWorld.open(t);
  const { host } = await world.site();
  const browser = world.browser();
  const page = await browser.logIn(host, '/deep/page?a=1&b=%20c');
  assert.equal(page.status, 200, page.text);
  const seen = JSON.parse(page.text) as Seen;
  assert.equal(seen.url, '/deep/page?a=1&b=%20c');
  assert.equal(seen.headers['postern-auth-user-email'], 'alice@example.com');
  assert.equal(seen.headers.cookie, undefined);
  const again = await browser.open(host, '/other');
  assert.equal(again.status, 200);
  assert.equal(again.headers['set-cookie'], undefined);
});
