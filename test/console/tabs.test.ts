import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';

buildConsoleIfStale();
const world = await TestWorld.open({ after });
const { baseUrl } = world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const visitor = browser === null ? (null as never) : await ConsoleVisitor.open(browser, baseUrl);
const { page } = visitor;
const heading = (tab: Page, name: string) => tab.getByRole('heading', { name, level: 1 });
const token = (tab: Page): Promise<unknown> => tab.evaluate(`localStorage.getItem('postern-console-token')`);
async function newTab(below: string): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(`${baseUrl}/console${below}`);
  return tab;
}

test('a new tab and a bookmark need no login of their own', { skip }, async () => {
  await visitor.logIn(TEST_API_KEY);
  const bookmark = await newTab('/changes');
  await heading(bookmark, 'Changes').waitFor();
  const [ctrlClick] = await Promise.all([
    page.context().waitForEvent('page'),
    page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: 'Sites' })
      .click({ modifiers: ['Control'] }),
  ]);
  await heading(ctrlClick, 'Sites').waitFor();
  // The token alone, without the cookie of this browser, is worth nothing.
  const stolen = await fetch(`${baseUrl}/edges/https`, {
    headers: { 'service-version': '2', 'postern-console-token': String(await token(page)) },
  });
  assert.equal(stolen.status, 401);
});

test('a login in one tab replaces the login page in the others, and a logout ends all at once', { skip }, async () => {
  const [first, second] = page.context().pages() as [Page, Page];
  await second.getByRole('button', { name: 'Log out' }).click();
  for (const tab of page.context().pages()) await tab.getByLabel('API key').waitFor();
  await first.getByText('You logged out in another tab.').waitFor();
  assert.equal(await token(first), null);
  await first.getByLabel('API key').fill(TEST_API_KEY);
  await first.getByRole('button', { name: 'Log in' }).click();
  await heading(first, 'Overview').waitFor();
  await heading(second, 'Changes').waitFor();
});

test('a request that is late with the former token does not end the new login', { skip }, async () => {
  const [first, second] = page.context().pages() as [Page, Page];
  const held = Promise.withResolvers<() => Promise<void>>();
  await second.route('**/changes?*', (route) => held.resolve(() => route.continue()), { times: 1 });
  await second.getByRole('button', { name: 'Reload' }).click();
  const letGo = await held.promise;
  // As a link that logs in does: the server ends the session that the cookie was of.
  await first.evaluate(`fetch('/console/session', { method: 'POST', body: JSON.stringify({ api_key: '${TEST_API_KEY}' }),
    headers: { 'content-type': 'application/json', 'service-version': '2' } })
    .then((response) => response.json()).then(({ token }) => localStorage.setItem('postern-console-token', token))`);
  const late = second.waitForResponse((response) => response.url().includes('/changes?'));
  await letGo();
  assert.equal((await late).status(), 401);
  await second.getByRole('button', { name: 'Try again' }).click();
  await second.getByRole('region', { name: 'Changes' }).waitFor();
  assert.notEqual(await token(first), null);
  await visitor.close();
});
