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
const world = await LoginWorld.open(
  { after },
  { env: { POSTERN_ROLES: 'api,edge,events', POSTERN_IDENTITY_HOST: 'id.localhost' } },
);
const { edge } = world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const admin = browser === null ? (null as never) : await ConsoleVisitor.open(browser, edge.world.baseUrl);
const { page } = admin;

test('a subscription chooses what to report from a list with a sentence for each event type', { skip }, async () => {
  await edge.api('POST', '/event_destinations', { target: { webhook: { url: 'https://hooks.example.com/x' } } });
  await admin.signIn(TEST_API_KEY);
  await admin.go('/events?tab=event_subscriptions');
  await page
    .getByRole('button', { name: /^Create/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Search event types').fill('ip policy created');
  await dialog.locator('.choices .check').first().waitFor();
  await dialog.getByLabel('Search event types').fill('ip_policy_created');
  await dialog.locator('.choices .check').nth(1).waitFor({ state: 'detached' });
  const sentence = (await dialog.locator('.choices label').first().textContent()) ?? '';
  assert.match(sentence, /\w+ \w+.*ip_policy_created\.v0/);
  await dialog.locator('.choices input').first().click();
  await dialog.getByText('1 chosen').waitFor();
  assert.deepEqual(await admin.seriousFindings(), []);
  await page.keyboard.press('Escape');
});

test('an address that is none is named while it is typed', { skip }, async () => {
  await admin.go('/people?tab=user_accounts');
  await page.getByRole('button', { name: 'Add a person' }).first().click();
  const email = page.getByRole('dialog').getByLabel('Email');
  await email.fill('nonsense');
  await page.getByText('Enter an e-mail address, such as ana@example.com.').waitFor();
  await email.fill('ana@example.com');
  await page.getByText('Enter an e-mail address').waitFor({ state: 'detached' });
  // What few people need is not in front.
  assert.equal(await page.getByRole('dialog').getByLabel('Metadata').isVisible(), false);
  await page.keyboard.press('Escape');
});

test('the page of backends opens on the kind that has one', { skip }, async () => {
  await edge.api('POST', '/backends/tunnel_group', { labels: { app: 'shop' } });
  await admin.navigate('Backends');
  await page.getByRole('tab', { name: 'Tunnel group', selected: true }).waitFor();
  await page.getByText('app=shop').first().waitFor();
});

test('Explain takes a host alone, and answers what a browser gets', { skip }, async () => {
  const wiki = await edge.site(await edge.staticBackend(world.upstreamAddress), 'wiki.localhost');
  await world.protect(wiki);
  await admin.navigate('Explain');
  await page.getByLabel('URL').fill('wiki.localhost');
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByRole('region', { name: 'Outcome' }).getByText('302').waitFor();
  assert.equal(await page.getByLabel('URL').inputValue(), 'https://wiki.localhost');
});

test('publishing a fixed page shows its status, and an empty list does not repeat its subtitle', { skip }, async () => {
  await admin.go('/publish');
  await page.getByLabel('Host', { exact: true }).fill('soon.localhost');
  await page.getByLabel('A fixed page', { exact: true }).click();
  await page.getByLabel('Text or HTML of the page').fill('Soon.');
  assert.equal(await page.getByLabel('Status', { exact: true }).inputValue(), '200');
  await page.getByLabel('Status', { exact: true }).fill('503');
  await page.getByLabel('Everybody', { exact: true }).click();
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByText('Every request gets the page that you wrote, with status 503.').waitFor();
  await admin.go('/resources/ip_policy_lists');
  const empty = (await page.locator('.empty').textContent()) ?? '';
  assert.match(empty, /The first one that you create appears here\./);
  await admin.close();
});
