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
const world = await LoginWorld.open({ after }, { env: { POSTERN_IDENTITY_HOST: 'id.localhost' } });
const { edge } = world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const admin = browser === null ? (null as never) : await ConsoleVisitor.open(browser, edge.world.baseUrl);
const { page } = admin;
const OTHERS = 130;
const search = (label: string) => page.getByLabel(label, { exact: true });
const count = page.locator('.count');

test('a site is found among more than are loaded, while somebody types, and on Back', { skip }, async () => {
  const wiki = await edge.site(await edge.staticBackend(world.upstreamAddress), 'wiki.localhost');
  assert.equal((await edge.ask(wiki.host, '/first-page')).status, 200);
  const operations = Array.from({ length: OTHERS }, (_, at) => ({
    ...{ method: 'POST', path: '/edges/https' },
    body: { hostports: [`site-${String(at).padStart(3, '0')}.localhost:443`] },
  }));
  for (let from = 0; from < OTHERS; from += 65)
    await edge.api('POST', '/changesets', { operations: operations.slice(from, from + 65) });
  await admin.logIn(TEST_API_KEY);
  await admin.navigate('Sites');
  await count.getByText(`${OTHERS + 1} in all`, { exact: true }).waitFor();
  await search('Search sites').pressSequentially('WIKI');
  await page.getByRole('link', { name: 'wiki.localhost' }).waitFor();
  await count.getByText('1 found', { exact: true }).waitFor();
  assert.match(page.url(), /\?q=WIKI$/);
  await page.getByRole('link', { name: 'wiki.localhost' }).click();
  await page.getByRole('heading', { name: 'wiki.localhost', level: 1 }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'wiki.localhost' }).waitFor();
  assert.equal(await search('Search sites').inputValue(), 'WIKI');
  // By the address that it leads to.
  await search('Search sites').fill(world.upstreamAddress);
  await count.getByText('1 found', { exact: true }).waitFor();
  await search('Search sites').fill('nothing like it');
  await page.getByRole('heading', { name: 'No site has “nothing like it” in it' }).waitFor();
  assert.deepEqual(await admin.axeFindings(), []);
  await page.getByRole('button', { name: 'Clear the filter' }).click();
  await page.getByRole('button', { name: 'Host' }).click();
  await page.locator('tr.row').first().getByText('site-000.localhost').waitFor();
  await page.getByRole('button', { name: 'Host' }).click();
  await page.locator('tr.row').first().getByText('wiki.localhost').waitFor();
  await page.locator('th[aria-sort="descending"]', { hasText: 'Host' }).waitFor();
});

test('edges, changes, requests and people are found the same way', { skip }, async () => {
  await admin.navigate('Edges and routes');
  await search('Search edges').fill('wiki');
  await page.getByRole('link', { name: 'wiki.localhost' }).first().waitFor();
  await count.getByText('1 found', { exact: true }).waitFor();

  await admin.navigate('Changes');
  await search('Search changes').fill('wiki.local');
  await page.getByRole('link', { name: 'wiki.localhost: HTTPS edge created' }).waitFor();

  await admin.navigate('Live traffic');
  await search('Search requests').fill('first-pa');
  await page.getByRole('link', { name: 'GET wiki.localhost/first-page' }).waitFor();
  await search('Search requests').fill('another');
  await page.getByRole('heading', { name: 'No kept request matches' }).waitFor();

  await edge.api('POST', '/user_accounts', { email: 'ana@example.org', name: 'Ana Moreau' });
  await edge.api('POST', '/user_accounts', { email: 'ben@example.org', name: 'Ben' });
  await admin.navigate('People');
  await search('Search user accounts').fill('moreau');
  await count.getByText('1 found', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Ana Moreau' }).waitFor();
  await search('Search user accounts').fill('ana@');
  await page.getByRole('link', { name: 'Ana Moreau' }).waitFor();
});

test('a search leads to the page of the site', { skip }, async () => {
  await page.getByRole('searchbox', { name: 'Search hosts' }).fill('wiki');
  await page.keyboard.press('Enter');
  await page
    .getByRole('region', { name: 'Results' })
    .getByRole('link', { name: 'wiki.localhost', exact: true })
    .click();
  await page.getByRole('heading', { name: 'wiki.localhost', level: 1 }).waitFor();
  assert.match(page.url(), /\/console\/sites\/edghts_/);
  await admin.close();
});
