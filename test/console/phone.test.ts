import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { LoginWorld } from '../support/login-world.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';

buildConsoleIfStale();
const world = await LoginWorld.open({ after });
const { edge } = world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const PHONE = { viewport: { width: 390, height: 844 } };
const admin = browser === null ? (null as never) : await ConsoleVisitor.open(browser, edge.world.baseUrl, PHONE);
const { page } = admin;
/** More than are all in the document. */
const SITES = 160;
const LONG = 'of-the-department-on-the-second-floor-left';

/** Texts of the page's rows that do not fit where they are. */
const cutTexts = (): Promise<readonly string[]> =>
  page.evaluate(
    `[...document.querySelectorAll('main tr.row td, main tr.row td *')]
      .filter((each) => getComputedStyle(each).overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1)
      .map((each) => each.textContent)`,
  );

async function scrollToEnd(): Promise<void> {
  const box = page.getByRole('region', { name: 'Sites', exact: true });
  await box.evaluate(`(async () => {
    const box = document.querySelector('section[aria-label="Sites"]');
    for (let rounds = 0; rounds < 60; rounds += 1) {
      box.scrollTop = box.scrollHeight;
      await new Promise((done) => setTimeout(done, 50));
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1 && !box.querySelector('[aria-busy=true]')) return;
    }
  })()`);
}

test('nothing of a long list is cut on a phone, and its last row is where it ends', { skip }, async () => {
  const operations = Array.from({ length: SITES }, (_, at) => ({
    ...{ method: 'POST', path: '/edges/https' },
    body: { hostports: [`site-${String(at).padStart(3, '0')}${at % 3 === 0 ? `-${LONG}` : ''}.localhost:443`] },
  }));
  for (let from = 0; from < SITES; from += 80)
    await edge.api('POST', '/changesets', { operations: operations.slice(from, from + 80) });
  await admin.logIn(TEST_API_KEY);
  await admin.go('/sites?order=hostports');
  await page.getByRole('link', { name: `site-000-${LONG}.localhost` }).waitFor();
  assert.deepEqual(await cutTexts(), []);
  await scrollToEnd();
  const last = page.getByRole('link', { name: `site-${SITES - 1}-${LONG}.localhost` });
  await last.waitFor();
  // Rows differ in height, and none lies over another.
  const overlaps = await page.evaluate(`(() => {
    const boxes = [...document.querySelectorAll('main tr.row')].map((row) => row.getBoundingClientRect());
    return boxes.slice(1).filter((box, at) => box.top < boxes[at].bottom - 1).length + (boxes.length > 60 ? 1000 : 0);
  })()`);
  assert.equal(overlaps, 0);
  assert.equal(new Set(await rowHeights()).size > 1, true);
  assert.deepEqual(await cutTexts(), []);
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  assert.deepEqual(await admin.axeFindings(), []);
});

const rowHeights = (): Promise<readonly number[]> =>
  page.evaluate(
    `[...document.querySelectorAll('main tr.row')].map((row) => Math.round(row.getBoundingClientRect().height))`,
  );

test('no column disappears on a phone, and lists are ordered there too', { skip }, async () => {
  const wiki = await edge.site(await edge.staticBackend(world.upstreamAddress), 'wiki.localhost');
  for (let round = 0; round < 3; round += 1) assert.equal((await edge.ask(wiki.host, '/a-page')).status, 200);
  await admin.go('/traffic');
  const request = page.locator('tr.row', { hasText: 'GET wiki.localhost/a-page' }).first();
  await request.getByText('127.0.0.1').waitFor();
  await request.locator('time').waitFor();
  await request.getByText(/ ms$/).waitFor();

  await admin.go('/sessions');
  const session = page.locator('tr.row', { hasText: 'this one' });
  await session.getByText('scopes of the API key').waitFor();
  await session.getByText(/^Chrome \d+ on Linux$/).waitFor();

  // By traffic, in the whole list: the largest first.
  await admin.go('/sites');
  await page.getByRole('button', { name: 'Requests' }).click();
  await page.locator('tr.row').first().getByRole('link', { name: 'wiki.localhost' }).waitFor();
  await page.locator('tr.row').first().getByRole('cell', { name: '3', exact: true }).waitFor();
  assert.match(page.url(), /order=-requests/);
  await admin.close();
});
