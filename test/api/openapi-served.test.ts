import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { projectRoot } from '../architecture/source-files.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const open = { key: null, version: null } as const;

test("the served document equals the checked-in one, except for the server's address", async () => {
  const served = await world.api('GET', '/openapi.json', undefined, open);
  assert.equal(served.status, 200);
  assert.equal(served.headers.get('content-type'), 'application/json; charset=utf-8');
  // Without the indentation: the console loads it with every page.
  const checkedIn = `${JSON.stringify(JSON.parse(readFileSync(`${projectRoot}/openapi.json`, 'utf8')))}\n`;
  assert.equal(served.text.replaceAll(world.baseUrl, 'http://127.0.0.1:7080'), checkedIn, 'run "npm run generate"');
  assert.ok(served.text.includes(world.baseUrl));
});

test('is compressed for clients that accept gzip, and only for them', async () => {
  for (const [accepted, encoding] of [
    ['br;q=1, gzip', 'gzip'],
    ['gzip;q=0', null],
    ['identity', null],
  ] as const) {
    const served = await world.api('GET', '/openapi.json', undefined, {
      ...open,
      headers: { 'accept-encoding': accepted },
    });
    assert.equal(served.headers.get('content-encoding'), encoding, accepted);
    assert.equal(served.headers.get('vary'), 'accept-encoding');
    assert.equal(served.body.openapi, '3.1.0');
  }
});

test('the page needs no key, and its policy lets it load nothing', async () => {
  const page = await world.api('GET', '/docs', undefined, open);
  assert.equal(page.status, 200);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy') ?? '';
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /script-src/);
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
});

test('/ redirects to the page', async () => {
  const root = await world.api('GET', '/', undefined, open);
  assert.equal(root.status, 302);
  assert.equal(root.headers.get('location'), '/docs');
});
