import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { LoginWorld } from '../support/login-world.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';
const SCREENSHOTS = process.env['POSTERN_CONSOLE_SCREENSHOTS'];

buildConsoleIfStale();
const world = await LoginWorld.open({ after });
const { edge } = world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const admin = browser === null ? (null as never) : await ConsoleVisitor.open(browser, edge.world.baseUrl);
const { page } = admin;
const site = page.getByRole('region', { name: 'Site', exact: true });
const basic = (user: string, password: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
});
async function look(name: string): Promise<void> {
  assert.deepEqual(await admin.axeFindings(), [], name);
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await admin.photograph(join(SCREENSHOTS, name));
}

test('the overview says first whether the sites are up, what is wrong, who came and what changed', {
  skip,
}, async () => {
  const wiki = await edge.site(await edge.staticBackend(world.upstreamAddress), 'wiki.localhost');
  const dead = await edge.site(await edge.staticBackend('127.0.0.1:1'), 'dead.localhost');
  assert.equal((await edge.ask(wiki.host)).status, 200);
  assert.equal((await edge.ask(dead.host)).status, 502);
  await admin.logIn(TEST_API_KEY);
  const sites = page.getByRole('region', { name: 'Sites' }).first();
  await sites.getByText('2 sites, 2 with visitors in the last hour, 1 failing').waitFor();
  await sites.locator('tr.row').first().getByText('dead.localhost').waitFor();
  await sites.locator('tr.row', { hasText: 'wiki.localhost' }).getByText('working').waitFor();
  await sites.locator('tr.row', { hasText: 'wiki.localhost' }).getByText('internal CA').waitFor();
  await page
    .getByRole('region', { name: 'Who came' })
    .first()
    .getByRole('link', { name: '127.0.0.1' })
    .first()
    .waitFor();
  await page
    .getByRole('region', { name: 'Changes' })
    .getByRole('link', { name: /dead.localhost.*created/ })
    .first()
    .waitFor();
  const order = await page
    .locator('main section.card')
    .evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')));
  assert.deepEqual(order.slice(0, 4), ['Sites', 'Problems', 'Who came', 'Changes']);
  await look('overview');
  await page.setViewportSize({ width: 390, height: 800 });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  await page.setViewportSize({ width: 1280, height: 860 });
});

test('the page of a site shows its traffic and certificate, pauses it, and opens it again', { skip }, async () => {
  await page.getByRole('region', { name: 'Sites' }).first().getByRole('link', { name: 'wiki.localhost' }).click();
  await page.getByRole('heading', { name: 'wiki.localhost', level: 1 }).waitFor();
  await site.getByText('browsers do not trust it').waitFor();
  await site.getByRole('link', { name: 'Trust it, or get a public one' }).click();
  await page.getByText('Certificates of the internal CA, which browsers do not trust').click();
  await page.getByText('prints the steps for each system and browser').waitFor();
  await look('certificates');
  await page.goBack();
  await page.getByRole('heading', { name: 'wiki.localhost', level: 1 }).waitFor();
  await page.getByRole('region', { name: 'Last requests' }).first().getByText('GET wiki.localhost/').first().waitFor();
  await page.getByRole('region', { name: 'Last hour of the site' }).waitFor();
  await site.getByRole('button', { name: 'Pause' }).click();
  await page.getByLabel('What visitors read').fill('We are back at noon.');
  await page.getByLabel('Try again in (minutes)').fill('30');
  await page.getByLabel('Let these addresses in').fill('10.0.0.300');
  await page.getByText('“10.0.0.300” is neither an address nor a range.').waitFor();
  await page.getByLabel('Let these addresses in').fill('203.0.113.7');
  await page.getByText('Who comes from 203.0.113.7 gets in as before.').waitFor();
  await page.getByLabel('Let these addresses in').fill('');
  await look('site-pause');
  await page.getByRole('button', { name: 'Pause the site' }).click();
  await site.getByText('paused', { exact: true }).waitFor();
  const paused = await edge.ask('wiki.localhost', '/', { headers: { accept: 'text/html' } });
  assert.deepEqual([paused.status, paused.headers['retry-after']], [503, '1800']);
  assert.match(paused.text, /We are back at noon\./);
  await look('site-paused');
  // One visitor of three was refused, as the owner wanted: nothing failed.
  await page.reload();
  await site.getByText('2 requests, 0 errors').waitFor();
  await site.getByRole('button', { name: 'Open again' }).click();
  await page.getByRole('button', { name: 'Open the site again' }).click();
  await page.getByRole('region', { name: 'Saved' }).getByText('Visitors get the site again').waitFor();
  assert.equal(await page.evaluate('scrollY'), 0, 'what was done is at the top');
  assert.equal((await edge.ask('wiki.localhost')).status, 200);
});

test('who may enter is changed with passwords and addresses too, and a password that is not typed stays', {
  skip,
}, async () => {
  await site.getByRole('button', { name: 'Change who may enter' }).click();
  await page.getByLabel('People who know a password', { exact: true }).click();
  await page.getByLabel('User name', { exact: true }).fill('ana');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByText('The password of ana needs at least 8 characters.').waitFor();
  await page.getByLabel('Password', { exact: true }).fill('long enough');
  await page.getByRole('group', { name: 'Who may enter' }).getByText('More', { exact: true }).click();
  await page.getByLabel('Only from these addresses (optional)').fill('127.0.0.1');
  // All ways to enter are in view: the group does not scroll.
  assert.equal(
    await page
      .getByRole('group', { name: 'Who may enter' })
      .evaluate((group) => group.scrollHeight > group.clientHeight),
    false,
  );
  await look('site-password');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('region', { name: 'Saved' }).getByText('They may enter from 127.0.0.1 only.').waitFor();
  assert.equal((await edge.ask('wiki.localhost')).status, 401);
  assert.equal((await edge.ask('wiki.localhost', '/', basic('ana', 'long enough'))).status, 200);
  await site.getByRole('button', { name: 'Change who may enter' }).click();
  assert.equal(await page.getByLabel('User name', { exact: true }).inputValue(), 'ana');
  assert.equal(await page.getByLabel('Only from these addresses (optional)').inputValue(), '127.0.0.1/32');
  await page.getByRole('button', { name: 'Add a user' }).click();
  await page.getByLabel('User name 2').fill('ben');
  await page.getByLabel('Password 2').fill('another one');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('region', { name: 'Saved' }).getByText('that of ana, ben').waitFor();
  for (const [user, password] of [
    ['ana', 'long enough'],
    ['ben', 'another one'],
  ] as const)
    assert.equal((await edge.ask('wiki.localhost', '/', basic(user, password))).status, 200, user);
});

test('a site is removed with the keyboard alone, and comes back with Undo', { skip }, async () => {
  const press = (name: string) => admin.pressByKeyboard(page.getByRole('button', { name }));
  await press('Remove the site');
  await page.getByText('wiki.localhost is no longer served').waitFor();
  // The button that does it says what it does.
  await press('Remove the site');
  await page.getByRole('region', { name: 'Saved' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Routes and modules' }).count(), 0, 'they are gone');
  await assert.rejects(edge.ask('wiki.localhost'), 'no certificate for a name that is not served');
  await press('Undo');
  await site.waitFor();
  assert.equal((await edge.ask('wiki.localhost', '/', basic('ana', 'long enough'))).status, 200);
  await admin.close();
});
