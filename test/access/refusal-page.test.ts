// Long form: the same refusal in a browser. Short form: test/access/access.test.ts
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertAccessible, assertFocusVisible } from '../login/browser/page-facts.ts';
import { Chromium, choose, skip } from '../login/browser/visitor.ts';
import { LoginWorld, type Seen } from '../support/login-world.ts';

/** Directory for screenshots of the pages, for manual review. */
const screenshots = process.env['POSTERN_TEST_SCREENSHOTS'];

const world = await LoginWorld.open({ after });
const chromium = await Chromium.open({ after });

test('a refused visitor sees why, switches account, and is on the page that they wanted, in both tabs', {
  skip,
}, async (t) => {
  const site = await world.site();
  await world.edge.api('PUT', `${site.routePath}/access`, { allow: [{ emails: ['alice@example.com'] }] });
  const visitor = await chromium.visitor(t);
  const url = `${world.origin(site.host)}/reports/7?month=11`;
  const page = await visitor.logIn(url, 'Bob Example');
  await page.getByRole('heading', { name: 'This account may not enter', level: 1 }).waitFor();
  await page.getByText('You are logged in as bob@example.com').waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    if (screenshots !== undefined) {
      await mkdir(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `access-refused-${colorScheme}.png`) });
    }
    await assertAccessible(page, colorScheme);
  }
  await assertFocusVisible(page);
  const other = await visitor.newPage();
  assert.equal((await other.goto(url))?.status(), 403, 'another tab is refused too');

  await page.getByRole('link', { name: 'Switch account' }).click();
  await choose(page, 'Alice Example');
  await page.waitForURL(url);
  for (const tab of [page, other]) {
    assert.equal((await tab.reload())?.status(), 200);
    const seen = JSON.parse((await tab.locator('body').textContent()) ?? '') as Seen;
    assert.equal(seen.url, '/reports/7?month=11');
    assert.equal(seen.headers['postern-auth-user-email'], 'alice@example.com');
  }
  assert.deepEqual(visitor.complaints, []);

  await world.edge.api('PUT', `${site.routePath}/access`, { allow: [{ emails: ['carol@example.com'] }] });
  assert.equal((await page.reload())?.status(), 403, 'a changed rule refuses the next request');
});
