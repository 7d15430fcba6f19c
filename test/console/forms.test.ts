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

test('a subscription without a destination says where one is made', { skip }, async () => {
  await admin.logIn(TEST_API_KEY);
  await admin.go('/events?tab=event_subscriptions');
  await page.getByRole('link', { name: 'destination', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Create an event subscription' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('There are no event destinations yet.').waitFor();
  assert.doesNotMatch((await dialog.textContent()) ?? '', /Ids of/, 'people choose by name');
  await dialog.getByRole('link', { name: 'Create one first' }).click();
  await page.getByText('No event destinations yet').waitFor();
});

test('a subscription chooses what to report from a list with a sentence for each event type', { skip }, async () => {
  await edge.api('POST', '/event_destinations', { target: { webhook: { url: 'https://hooks.example.com/x' } } });
  await admin.go('/events?tab=event_subscriptions');
  await page
    .getByRole('button', { name: /^Create/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Search event types').fill('ip policy created');
  await dialog.locator('.long-choices .check').first().waitFor();
  await dialog.getByLabel('Search event types').fill('ip_policy_created');
  await dialog.locator('.long-choices .check').nth(1).waitFor({ state: 'detached' });
  const sentence = (await dialog.locator('.long-choices label').first().textContent()) ?? '';
  assert.match(sentence, /\w+ \w+.*ip_policy_created\.v0/);
  await dialog.locator('.long-choices input').first().click();
  await dialog.getByText('1 chosen').waitFor();
  assert.deepEqual(await admin.axeFindings(), []);
  // A destination without a description is known by its address, here and in the lists.
  await page.locator('datalist option[value^="webhook: https://hooks.example.com/x ("]').waitFor({ state: 'attached' });
  await dialog.getByRole('button', { name: 'Add to Destination' }).click();
  await page.keyboard.type('webhook: https://hooks.example.com/x');
  assert.equal(
    await dialog.getByLabel('Destination 2', { exact: true }).inputValue(),
    'webhook: https://hooks.example.com/x',
  );
  await dialog.getByRole('button', { name: 'Remove Destination 1' }).click();
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.locator('tr.row').getByRole('link', { name: 'ip_policy_created.v0' }).waitFor();
  const [made] = (await edge.api('GET', '/event_subscriptions')).event_subscriptions;
  assert.equal(made.destinations.length, 1);
});

test('a key gets the rights that somebody chose, and no others by itself', { skip }, async () => {
  await admin.go('/keys');
  await page.getByRole('button', { name: 'Create an API key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Description').fill('dashboard');
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  assert.equal(await dialog.getByRole('button', { name: 'Save' }).count(), 0, 'nothing is chosen yet');
  await dialog.getByLabel('Only what you choose').check();
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  assert.equal(await dialog.getByRole('button', { name: 'Save' }).count(), 0, 'no right is chosen yet');
  await dialog.getByLabel('Search rights').fill('https edges');
  await dialog.getByLabel(/^Read .*edges:read/).check();
  assert.deepEqual(await admin.axeFindings(), []);
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  const [key] = (await edge.api('GET', '/api_keys')).keys;
  assert.deepEqual([key.description, key.scopes], ['dashboard', ['edges:read']]);
});

test('a destination asks for its kind first, and shows the fields of that kind only', { skip }, async () => {
  await admin.go('/events?tab=event_destinations');
  await page
    .getByRole('button', { name: /^Create/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: 'Webhook' }).waitFor();
  assert.equal((await dialog.getByLabel('URL').count()) + (await dialog.getByLabel('Name').count()), 0);
  await dialog.getByRole('radio', { name: 'File' }).check();
  await dialog.getByLabel('Name').waitFor();
  await dialog.getByRole('radio', { name: 'Webhook' }).check();
  assert.equal(await dialog.getByLabel('Name').count(), 0);
  assert.doesNotMatch((await dialog.textContent()) ?? '', /PATCH|stored value/);
  assert.deepEqual(await admin.axeFindings(), []);
  await dialog.getByLabel('URL').fill('https://hooks.example.com/created');
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  // The secret that signs deliveries is shown once, and is no password of which a hash is kept.
  await dialog.getByText('The server signs every event with this secret.').waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const { event_destinations: all } = await edge.api('GET', '/event_destinations');
  const created = all.find(({ target }: { target: { webhook?: { url?: string } } }) =>
    target.webhook?.url?.endsWith('/created'),
  );
  await admin.go(`/resources/event_destinations/item?path=${encodeURIComponent(`/event_destinations/${created.id}`)}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByText('Leave it as it is to keep the stored value.').first().waitFor();
  assert.equal(await dialog.getByRole('radio', { name: 'File' }).count(), 0, 'a webhook does not become a file');
  assert.doesNotMatch((await dialog.textContent()) ?? '', /PATCH/);
  await page.keyboard.press('Escape');
});

test('an address that is none is named while it is typed', { skip }, async () => {
  await admin.go('/people?tab=user_accounts');
  await page.getByRole('button', { name: 'Add a person' }).first().click();
  const email = page.getByRole('dialog').getByLabel('Email');
  await email.waitFor();
  // What somebody types goes into the first field.
  await page.keyboard.type('nonsense');
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

test('IP restriction begins with addresses, and makes the policy of them', { skip }, async () => {
  const shop = await edge.site(await edge.staticBackend(world.upstreamAddress), 'office.localhost');
  const routePath = shop.routePath.replace('/edges/https', '/edges');
  await admin.go(routePath);
  await page.getByLabel('Add a module').selectOption({ label: 'IP restriction' });
  const dialog = page.getByRole('dialog', { name: 'Add IP restriction' });
  const addresses = dialog.getByLabel('Addresses and ranges');
  // The first thing to fill in, and ids are behind "More".
  await dialog.locator('textarea:focus').waitFor();
  assert.equal(await dialog.getByText('IP policy', { exact: true }).isVisible(), false);
  await addresses.fill('203.0.113.7, office');
  await dialog.getByText('“office” is neither an address nor a range.').waitFor();
  await addresses.fill('203.0.113.7\n198.51.100.0/24');
  await dialog.getByText('Only visitors from 203.0.113.7, 198.51.100.0/24 get in.').waitFor();
  assert.deepEqual(await admin.axeFindings(), []);
  await dialog.getByRole('button', { name: 'Save' }).click();
  const card = page.getByRole('region', { name: 'IP restriction module' });
  await card.getByRole('link', { name: 'office.localhost/' }).waitFor();
  assert.equal((await edge.ask(shop.host)).status, 403);

  // The form shows them again, and another address replaces them.
  await card.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit IP restriction' });
  assert.deepEqual((await edit.getByLabel('Addresses and ranges').inputValue()).split('\n').toSorted(), [
    '198.51.100.0/24',
    '203.0.113.7/32',
  ]);
  await edit.getByLabel('Addresses and ranges').fill('127.0.0.0/8');
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.waitFor({ state: 'detached' });
  assert.equal((await edge.ask(shop.host)).status, 200);

  // A policy that denies too is not one of addresses: it stays what it is.
  const {
    ip_policies: [policy],
  } = await edge.api('GET', `${shop.routePath}/ip_restriction`);
  await edge.api('POST', '/ip_policy_rules', { ip_policy_id: policy.id, action: 'deny', cidr: '127.9.0.0/16' });
  await card.getByRole('button', { name: 'Edit' }).click();
  assert.equal(await edit.getByLabel('Addresses and ranges').inputValue(), '');
  await edit.getByLabel('Addresses and ranges').fill('198.51.100.1');
  await edit.getByText('the addresses of 1 IP policy').waitFor();
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.waitFor({ state: 'detached' });
  const after = await edge.api('GET', `${shop.routePath}/ip_restriction`);
  assert.equal(after.ip_policies.length, 2);
  assert.ok(after.ip_policies.some(({ id }: { id: string }) => id === policy.id));
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
