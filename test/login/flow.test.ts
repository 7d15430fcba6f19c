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

test('a login that begins on the name with the dot of the root returns to the page, on the name without it', async (t) => {
  const world = await LoginWorld.open(t);
  const { host } = await world.site();
  const browser = world.browser();
  const { port } = new URL(world.origin(host));
  const rooted = { headers: { host: `${host}.:${port}` } };
  const first = await browser.open(host, '/deep/page?a=1', rooted);
  assert.equal(first.status, 302, first.text);
  const login = first.headers['location'] as string;
  const moved = await browser.open(host, login, rooted);
  assert.equal(moved.status, 302, moved.text);
  assert.equal(moved.headers['location'], `${world.origin(host)}${login}`);
  const page = await browser.logIn(host, login);
  assert.equal((JSON.parse(page.text) as Seen).url, '/deep/page?a=1', page.text);
  // What needs no cookie is one and the same site.
  assert.equal((await browser.open(host, '/deep/page', rooted)).status, 200);
});
