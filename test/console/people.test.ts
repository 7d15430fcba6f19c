import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { IDENTITY_ORIGIN, type IdentityBrowser, IdentityWorld } from '../support/identity-world.ts';
import { MailServer } from '../support/mail-server.ts';
import { isLong } from '../support/share-of-cases.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';
import { HOSTILE } from './hostile-text.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';
/** A folder for screenshots of every page, at three widths and in both themes. */
const SCREENSHOTS = process.env['POSTERN_CONSOLE_SCREENSHOTS'];

buildConsoleIfStale();
const world = await IdentityWorld.open({ after });
const { baseUrl } = world.edge.world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());

async function visitor(url = baseUrl, key = TEST_API_KEY): Promise<ConsoleVisitor> {
  assert(browser !== null);
  const opened = await ConsoleVisitor.open(browser, url, { permissions: ['clipboard-read', 'clipboard-write'] });
  await opened.logIn(key);
  return opened;
}
const admin = browser === null ? (null as never) : await visitor();
const photograph = async (name: string): Promise<void> => {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await admin.photograph(join(SCREENSHOTS, `people-${name}`));
};
const account = (id: string) => world.edge.api('GET', `/user_accounts/${id}`);
/** No finding of axe in either theme, and nothing to scroll sideways for on a phone. */
async function examine(shown: ConsoleVisitor, name: string): Promise<void> {
  if (shown === admin) await photograph(name);
  const { page } = shown;
  const before = page.viewportSize() ?? { width: 1280, height: 860 };
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${name} is too wide`);
  // axe-core takes longer than all else.
  for (const colorScheme of isLong ? (['dark', 'light'] as const) : (['dark'] as const)) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await shown.axeFindings(), [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(before);
}
/** Follows redirects over the hosts of the edge, as far as a page. */
async function visit({ jar }: IdentityBrowser, from: string): Promise<string> {
  for (let url = new URL(from), step = 0; step < 10; step += 1) {
    const cookie = jar.header(url.href);
    const headers = { accept: 'text/html', ...(cookie !== undefined && { cookie }) };
    const answer = await world.edge.ask(url.hostname, `${url.pathname}${url.search}`, {
      rejectUnauthorized: false,
      headers,
    });
    jar.store(url.href, answer.headers['set-cookie']);
    if (answer.headers['location'] === undefined) return answer.text;
    url = new URL(String(answer.headers['location']), url);
  }
  return assert.fail('too many redirects');
}
/** The page as it is now, also if it is open. */
async function show(below: string): Promise<void> {
  await admin.go('/sessions');
  await admin.go(below);
}
/** Presses a button of the page, then the one of the dialog that asks. */
async function confirm(name: string, answer = name): Promise<void> {
  await admin.page.getByRole('button', { name, exact: true }).click();
  await admin.page.getByRole('dialog').getByRole('button', { name: answer, exact: true }).click();
}

suite('people in the console', { skip }, () => {
  test('an administrator adds a person with the keyboard, and the link is shown once', async () => {
    const { page } = admin;
    await admin.navigate('People');
    await examine(admin, 'nobody');
    await admin.pressByKeyboard(page.getByRole('button', { name: 'Add a person' }));
    const dialog = page.getByRole('dialog', { name: 'Add a person' });
    assert.equal(await dialog.getByLabel('Active').count(), 0, 'a new person is active');
    await page.keyboard.type('ana@example.com');
    assert.equal(await dialog.getByLabel('Email (required)').inputValue(), 'ana@example.com', 'it has the focus');
    await admin.tabTo(dialog.getByLabel('Name', { exact: true }));
    await page.keyboard.type('Ana Ortega');
    await admin.pressByKeyboard(dialog.getByRole('button', { name: 'Add to Groups' }));
    await page.keyboard.type('ops');
    assert.equal(await dialog.getByLabel('Groups 1', { exact: true }).inputValue(), 'ops', 'it has the focus');
    await page.keyboard.press('Enter');
    await dialog.getByText('Ana Ortega (ana@example.com) gets an account here.').waitFor();
    await dialog.getByText('They are in the group ops.').waitFor();
    assert.equal(await dialog.locator('.diff').count(), 0);
    await examine(admin, 'add');
    await admin.pressByKeyboard(dialog.getByRole('button', { name: 'Save' }));
    await page.getByText('No mail is sent').waitFor();
    const link = (await page.locator('.secret-once code').textContent()) as string;
    await examine(admin, 'invitation');
    await admin.pressByKeyboard(page.getByRole('button', { name: 'Copy' }));
    await page.getByText('Copied.').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), link);
    await admin.pressByKeyboard(page.getByRole('button', { name: 'Done' }));
    await page.locator('tr.row', { hasText: 'Ana Ortega' }).getByText('no passkey').waitFor();
    assert.ok(!(await page.content()).includes(link));

    const accepted = await world.browser().accept(link, new SoftAuthenticator(IDENTITY_ORIGIN));
    assert.equal(accepted.status, 303, accepted.text);
    await show('/people');
    await page.locator('tr.row', { hasText: 'ana@example.com' }).getByText('active').waitFor();
    await examine(admin, 'accounts');
  });

  test('the page of a person shows and changes the account', async () => {
    const { page } = admin;
    const { id } = await world.person('ben@example.com', { name: 'Ben', groups: ['dev'] });
    await show('/people');
    await page.getByRole('link', { name: 'Ben' }).click();
    await page.getByRole('heading', { name: 'Ben', level: 1 }).waitFor();
    await admin.settle();
    await page.getByRole('region', { name: 'Account' }).getByText('dev').waitFor();
    await examine(admin, 'person');

    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Ben Ito');
    await page.getByLabel('Groups 1', { exact: true }).fill('ops');
    await admin.save();
    await page.getByRole('heading', { name: 'Ben Ito', level: 1 }).waitFor();
    const { name, groups } = await account(id);
    assert.deepEqual([name, groups], ['Ben Ito', ['ops']]);

    await confirm('Disable');
    await page.getByRole('region', { name: 'Account' }).getByText('disabled').waitFor();
    assert.equal((await account(id)).active, false);
    assert.equal(await page.getByRole('button', { name: 'Invite again' }).count(), 0);
    await confirm('Enable');
    await page.getByRole('region', { name: 'Account' }).getByText('active').waitFor();

    await admin.pressByKeyboard(page.getByRole('button', { name: 'Delete', exact: true }));
    await admin.pressByKeyboard(page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }));
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
    await admin.settle();
    assert.equal(await page.getByText('Ben Ito', { exact: true }).count(), 0);
    assert.equal((await world.edge.world.api('GET', `/user_accounts/${id}`)).status, 404);

    const { changes } = await world.edge.api('GET', `/changes?object_id=${id}&limit=1`);
    await admin.go(`/changes/${changes[0].revision}`);
    await page.getByText('a deleted account does not come back, because its passkeys are gone').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Undo' }).count(), 0, 'an undo would do nothing');
    await page.getByRole('link', { name: 'Invite them on the page People.' }).click();
    await page.getByRole('heading', { name: 'People', level: 1 }).waitFor();
  });

  test('a person is logged out everywhere, loses a passkey, and is invited again without the others', async () => {
    const { page } = admin;
    const { id, browser: laptop, device } = await world.person('carla@example.com');
    assert.equal((await laptop.addPasskey(new SoftAuthenticator(IDENTITY_ORIGIN))).status, 303);
    await show(`/people/${id}`);
    await confirm('Log out everywhere');
    await page.getByText('carla@example.com is logged out.').waitFor();
    assert.equal((await laptop.open('/account')).status, 303, 'the session at the identity host ended');

    const remove = page.getByRole('button', { name: /^Remove the passkey/ });
    await remove.nth(1).waitFor();
    await remove.first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The passkey is removed.').waitFor();
    await remove.nth(1).waitFor({ state: 'detached' });
    assert.equal((await account(id)).passkey_count, 1);

    await page.getByRole('button', { name: 'Invite again' }).click();
    await page.getByLabel('Remove passkeys').check();
    await examine(admin, 'invite-again');
    await page.getByRole('dialog').getByRole('button', { name: 'Make a new link' }).click();
    const link = (await page.locator('.secret-once code').textContent()) as string;
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('heading', { name: 'No passkeys' }).waitFor();
    assert.equal((await laptop.logIn(device)).status, 403);
    assert.equal((await laptop.accept(link, new SoftAuthenticator(IDENTITY_ORIGIN))).status, 303);
  });

  test('a refusal of the API is shown with its reason', async () => {
    const { page } = admin;
    await world.invite('root@example.com', { groups: ['postern-admins'] });
    await show('/people');
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByLabel('Email (required)').fill('ROOT@example.com');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('choose another value').waitFor();
    await examine(admin, 'refused');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();

    // A helper desk may write accounts, and must not become an administrator by one.
    const { token } = await world.edge.api('POST', '/api_keys', {
      scopes: ['user_accounts:read', 'user_accounts:write'],
    });
    const desk = await visitor(baseUrl, token);
    await desk.navigate('People');
    await desk.page.getByRole('link', { name: 'root@example.com' }).click();
    await desk.page.getByRole('button', { name: 'Invite again' }).click();
    await desk.page.getByRole('dialog').getByRole('button', { name: 'Make a new link' }).click();
    await desk.page.getByRole('alert').getByText('Log in with a key or a role that has this scope').waitFor();
    await desk.close();
  });

  test('who only reads sees people, their passkeys and applications, and no button', async () => {
    const { id } = await world.person('dora@example.com', { name: HOSTILE[0], description: HOSTILE[1] });
    await world.edge.api('POST', '/oidc_clients', { name: HOSTILE[1], redirect_uris: [] });
    const { token } = await world.edge.api('POST', '/api_keys', { scopes: ['*:read'] });
    const viewer = await visitor(baseUrl, token);
    for (const below of [`/people/${id}`, '/people', '/people?tab=oidc_clients', '/people?tab=app_users']) {
      await viewer.go(below);
      const buttons = await viewer.page.locator('main button:not([role="tab"], .order)').allTextContents();
      assert.deepEqual(buttons, [], below);
      await examine(viewer, below);
      assert.equal(await viewer.page.evaluate('window.hacked'), undefined);
    }
    await viewer.go(`/people/${id}`);
    await viewer.page.getByRole('region', { name: 'Passkeys', exact: true }).locator('tr.row').waitFor();
    await viewer.close();
    // Somebody who may only see accounts finds them.
    const narrow = await world.edge.api('POST', '/api_keys', { scopes: ['user_accounts:read'] });
    const reader = await visitor(baseUrl, narrow.token);
    await reader.navigate('People');
    await reader.page.getByRole('link', { name: HOSTILE[0] }).waitFor();
    await reader.close();
  });

  test('the secret of an application is shown once, beside its client id', async () => {
    const { page } = admin;
    await show('/people?tab=oidc_clients');
    await page.getByText(IDENTITY_ORIGIN).waitFor();
    await page.getByRole('button', { name: 'Add an application' }).click();
    await page.getByLabel('Name (required)').fill('Wiki');
    await page.getByRole('button', { name: 'Add to Redirect uris' }).click();
    await page.getByLabel('Redirect uris 1', { exact: true }).fill('https://wiki.example.com/callback');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const secret = (await page.locator('.secret-once code').textContent()) as string;
    assert.match(secret, /^postern_oc_/);
    const [client] = (await world.edge.api('GET', '/oidc_clients')).oidc_clients;
    await page.getByRole('dialog').getByText(client.client_id).waitFor();
    await examine(admin, 'client-secret');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.locator('tr.row', { hasText: 'Wiki' }).getByText('nobody').waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await examine(admin, 'applications');
    await page.getByRole('button', { name: 'Delete Wiki' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('tr.row', { hasText: 'Wiki' }).waitFor({ state: 'detached' });
  });

  test('a deleted application is not said to come back', async () => {
    const { page } = admin;
    const { uri } = await world.edge.api('POST', '/oidc_clients', { name: 'Short-lived' });
    await admin.go(`/resources/oidc_clients/item?path=${encodeURIComponent(new URL(uri).pathname)}`);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByText('this cannot be undone').waitFor();
    assert.equal(await page.getByLabel('Keep the change').count(), 0, 'a trial could not bring it back');
    await page.getByRole('button', { name: 'Cancel' }).click();
  });

  test('people are named where their requests, logins and changes are, and their page leads to both', async () => {
    const { page } = admin;
    const site = await world.edge.site(await world.edge.httpResponse('welcome'), 'app.example.test');
    await world.edge.api('PUT', `${site.routePath}/oidc`, { issuer: IDENTITY_ORIGIN });
    const { id, browser: laptop } = await world.person('eva@example.com', { name: 'Eva' });
    assert.match(await visit(laptop, 'https://app.example.test/.postern/login?to=%2F&go=1'), /welcome/);
    await world.edge.api('PATCH', `/user_accounts/${id}`, { name: 'Eva Moss' });
    await show('/people?tab=app_sessions');
    const login = page.locator('tr.row', { hasText: 'Eva (eva@example.com)' });
    await login.getByRole('link', { name: 'app.example.test' }).waitFor();
    await examine(admin, 'logged-in');
    await page.getByLabel('Search login sessions').fill('app.example');
    await login.waitFor();

    await show('/traffic');
    await page.getByLabel('Search requests').fill('eva@');
    const request = page.locator('tr.row', { hasText: 'app.example.test/' }).first();
    await request.getByRole('link', { name: 'Eva (eva@example.com)' }).click();
    // One page under one id, however the person was found.
    await page.getByRole('heading', { name: 'Eva Moss', level: 1 }).waitFor();
    assert.match(page.url(), /\/people\/ua_/);
    await page
      .getByRole('region', { name: 'Logged in at' })
      .getByRole('link', { name: 'app.example.test' })
      .first()
      .waitFor();
    await page.getByRole('region', { name: 'Last requests' }).getByText('GET app.example.test/').first().waitFor();
    await examine(admin, 'person');
    await page.getByRole('link', { name: 'All of them, live' }).click();
    await page.getByText('Only requests of').getByText('Eva (eva@example.com)').waitFor();
    await page.locator('main').getByText(/\bau_/).waitFor({ state: 'detached' });

    // Somebody who was disabled is logged in nowhere.
    await world.edge.api('PATCH', `/user_accounts/${id}`, { active: false });
    await show('/people?tab=app_sessions');
    await page.getByRole('heading', { name: 'No login sessions yet' }).waitFor();
    await show('/people?tab=app_users');
    await page.getByRole('link', { name: 'Eva (eva@example.com)' }).waitFor();
  });

  test('with mail, the administrator learns where the link goes', async () => {
    const mail = await MailServer.open({ after });
    const env = { POSTERN_SMTP_URL: mail.url, POSTERN_MAIL_FROM: 'postern@example.test' };
    const mailing = await IdentityWorld.open({ after }, { env });
    const { id } = await mailing.invite('fay@example.com');
    const { baseUrl: url } = mailing.edge.world;
    const other = await visitor(url);
    await other.go(`/people/${id}`);
    await other.page.getByRole('button', { name: 'Invite again' }).click();
    await other.page.getByRole('dialog').getByRole('button', { name: 'Make a new link' }).click();
    await other.page.getByText('on its way to fay@example.com').waitFor();
    await other.close();
  });

  test('without an identity host, one sentence says how to turn it on', async (t) => {
    const off = await TestWorld.open(t, {});
    const visiting = await visitor(off.baseUrl);
    await visiting.navigate('People');
    await visiting.page.getByRole('tab', { name: 'Logged in', selected: true }).waitFor();
    await visiting.page.getByRole('tab', { name: 'Accounts' }).click();
    await visiting.page.getByText('set identity_host (POSTERN_IDENTITY_HOST)').waitFor();
    assert.equal(await visiting.page.getByRole('button', { name: 'Add a person' }).count(), 0);
    await examine(visiting, 'off');
    await visiting.close();
  });

  test('no page complained, and people log in to the console with a passkey', async () => {
    const { page } = admin;
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByRole('link', { name: 'Log in with a passkey' }).waitFor();
    await photograph('sign-in');
    await admin.close();
  });
});
