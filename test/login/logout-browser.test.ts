// Long form: the same logouts in a browser. Short form: test/login/flow/logout.test.ts
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { LoginWorld } from '../support/login-world.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: logout is NOT tested in a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);
const world = await LoginWorld.open({ after });
const args = [...CHROMIUM_FLAGS, '--host-resolver-rules=MAP * 127.0.0.1'];
const browser: Browser | null = executablePath === null ? null : await chromium.launch({ executablePath, args });
after(async () => browser?.close());

test('the button of the logout page logs out although its form sends "Origin: null"', {
  skip,
}, async () => {
  const { host } = await world.site();
  const page = await (browser ?? assert.fail()).newPage({ ignoreHTTPSErrors: true });
  await page.goto(`${world.origin(host)}/orders`);
  await page.getByRole('button', { name: 'Alice Example' }).click();
  await page.waitForURL(`${world.origin(host)}/orders`);
  await page.goto(`${world.origin(host)}/.postern/logout`);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'You are logged out' }).waitFor({ timeout: 10_000 });
  assert.equal(new URL(page.url()).pathname, '/.postern/logout/done');
  // At the provider too: it asks again for the user.
  await page.goto(`${world.origin(host)}/orders`);
  await page.getByRole('button', { name: 'Bob Example' }).waitFor({ timeout: 10_000 });
  await page.close();
});

test("another site's form logs nobody out, whatever origin it claims", async () => {
  const { host } = await world.site();
  const post = (headers: Readonly<Record<string, string>>) =>
    world.edge.ask(host, '/.postern/logout', {
      method: 'POST',
      headers: { host: `${host}:${world.edge.port}`, accept: 'text/html', 'sec-fetch-mode': 'navigate', ...headers },
    });
  for (const headers of [
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    const answer = await post(headers);
    assert.equal(answer.status, 200, JSON.stringify(headers));
    assert.match(answer.text, /Log out\?/);
  }
  assert.equal((await post({ origin: 'null', 'sec-fetch-site': 'same-origin' })).status, 302);
});
