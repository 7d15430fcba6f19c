// Long form: the same guests in a browser. Short form: test/access/guests/guests.test.ts
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible, assertFocusVisible } from '../../login/browser/page-facts.ts';
import { Chromium, skip } from '../../login/browser/visitor.ts';
import { GuestWorld } from './guest-world.ts';

/** Directory for screenshots of the pages, for manual review. */
const screenshots = process.env['POSTERN_TEST_SCREENSHOTS'];

const world = await GuestWorld.open({ after });
const chromium = await Chromium.open({ after });
const site = await world.site();
const origin = world.login.origin(site.host);

test('a guest opens the link in a browser, continues, and is on the site without a trace of the link', {
  skip,
}, async (t) => {
  const link = await world.invite(site);
  const visitor = await chromium.visitor(t);
  const page = await visitor.newPage();
  await page.goto(`${origin}${link.path}`);
  await page.getByRole('heading', { name: 'You are invited as a guest', level: 1 }).waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `guest-link-${colorScheme}`);
    await assertAccessible(page, colorScheme);
  }
  await assertFocusVisible(page);
  assert.deepEqual(await world.usedBy(link), [], 'looking at it spends nothing');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${origin}/`);
  const seen = JSON.parse((await page.textContent('body')) ?? '');
  assert.equal(seen.headers['postern-auth-kind'], 'guest');
  assert.equal(seen.headers['referer'], undefined);
  assert.ok(!JSON.stringify(seen).includes(link.secret));

  // A second tab, and the link once more.
  const again = await visitor.newPage();
  await again.goto(`${origin}${link.path}`);
  await again.waitForURL(`${origin}/`);
  assert.equal((await world.usedBy(link)).length, 1);
  assert.deepEqual(visitor.complaints, []);

  const other = await chromium.visitor(t);
  const late = await other.newPage();
  await late.goto(`${origin}${link.path}`);
  await late.getByRole('heading', { name: 'This link was already used', level: 1 }).waitFor();
  await picture(late, 'guest-link-spent');
  await assertAccessible(late, 'light');

  await world.login.edge.api('DELETE', link.uri);
  await late.goto(`${origin}${link.path}`);
  await late.getByRole('heading', { name: 'This link was revoked', level: 1 }).waitFor();
  assert.equal((await page.goto(`${origin}/`))?.status(), 403);
});

test('a form on another site cannot redeem a link in the visitor’s browser', { skip }, async (t) => {
  const link = await world.invite(site);
  const hostile = await world.site();
  const visitor = await chromium.visitor(t);
  const page = await visitor.newPage();
  await page.route(`${world.login.origin(hostile.host)}/evil`, (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" action="${origin}/.postern/guest"><input name="link" value="${link.secret}"><button>Go</button></form>`,
    }),
  );
  await page.goto(`${world.login.origin(hostile.host)}/evil`);
  await page.getByRole('button', { name: 'Go' }).click();
  await page.getByText('ERR_POSTERN_GUEST_LINK_CROSS_SITE').waitFor();
  assert.deepEqual(await world.usedBy(link), []);
});

async function picture(page: Page, name: string): Promise<void> {
  if (screenshots === undefined) return;
  await mkdir(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`) });
}
