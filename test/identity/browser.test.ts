import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { chromiumPath } from '../support/chromium.ts';
import { IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';
import { launchTrustingChromium, VirtualAuthenticator } from '../support/trusting-chromium.ts';
import { acceptInvitation, IdentityTabs, logIn } from './identity-tabs.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: passkeys are NOT tested in a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);

/** A folder for screenshots of every page, at two widths and in both themes. */
const SCREENSHOTS = process.env['POSTERN_IDENTITY_SCREENSHOTS'];
const APPS = ['one.example.test', 'two.example.test'];

const world = await IdentityWorld.open({ after }, { env: { POSTERN_DOMAIN: 'example.test' } });
const { ca, port } = world.edge;
const browser = skip === false ? await launchTrustingChromium({ after }, executablePath ?? '', { ca, port }) : null;
for (const host of APPS) {
  const site = await world.edge.site(await world.edge.httpResponse(`welcome to ${host}`), host);
  await world.edge.api('PUT', `${site.routePath}/oidc`, { issuer: IDENTITY_ORIGIN });
}

const tabs = new IdentityTabs(browser, SCREENSHOTS);
const newTab = (): Promise<Page> => tabs.open();
const examine = (page: Page, name: string): Promise<void> => tabs.examine(page, name);

test('a person registers by invitation, uses two hosts, adds a second device and recovers from losing both', {
  skip,
}, async () => {
  const { id, url } = await world.invite('ana@example.com', { name: 'Ana' });
  const page = await newTab();
  const laptop = await VirtualAuthenticator.plugInto(page);
  await page.goto(url);
  await examine(page, 'invitation');
  await acceptInvitation(page, laptop);
  await examine(page, 'account');

  // One passkey, two hosts: the second asks nothing.
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
  await page.goto(`https://${APPS[0]}/`);
  await page.getByText(`continue to`).waitFor();
  await examine(page, 'sign-in');
  await logIn(page, laptop);
  await page.getByText(`welcome to ${APPS[0]}`).waitFor();
  await page.goto(`https://${APPS[1]}/`);
  await page.getByText(`welcome to ${APPS[1]}`).waitFor();

  // A second device.
  await page.goto(`${IDENTITY_ORIGIN}/account`);
  await page.getByText(APPS[0] as string).waitFor();
  await laptop.unplug();
  const phone = await VirtualAuthenticator.plugInto(page);
  await phone.touchedDuring(async () => {
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('The passkey was added.').waitFor();
  });
  await examine(page, 'two-passkeys');
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await logIn(page, phone);
  await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor();
  await page
    .getByRole('button', { name: /^Remove / })
    .first()
    .click();
  await page.getByText('The passkey was removed.').waitFor();

  // Both are lost: an administrator invites again, and the old ones are gone.
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  const { invitation_url } = await world.edge.api('POST', `/user_accounts/${id}/invite`, { remove_passkeys: true });
  await page.goto(`${IDENTITY_ORIGIN}/sign-in`);
  await logIn(page, phone);
  await page.getByRole('heading', { name: 'This passkey is not known here' }).waitFor();
  await examine(page, 'unknown-passkey');
  await phone.unplug();
  const next = await VirtualAuthenticator.plugInto(page);
  await page.goto(invitation_url);
  await acceptInvitation(page, next);
  assert.equal((await world.edge.api('GET', `/user_accounts/${id}`)).passkey_count, 1);
});

test('the question before a logout, the page after it and one that does not exist are for everybody', {
  skip,
}, async () => {
  const { url } = await world.invite('leaves@example.com');
  const page = await newTab();
  await page.goto(url);
  await acceptInvitation(page, await VirtualAuthenticator.plugInto(page));
  await page.goto(`${IDENTITY_ORIGIN}/nothing`);
  await examine(page, 'not-found');
  await page.goto(`${IDENTITY_ORIGIN}/session/end`);
  await page.getByRole('heading', { name: 'Log out?', level: 1 }).waitFor();
  await examine(page, 'sign-out');
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.getByRole('heading', { name: 'Logged out', level: 1 }).waitFor();
  await examine(page, 'signed-out');
});

test('the address field offers passkeys', { skip }, async () => {
  const { url } = await world.invite('autofill@example.com');
  const page = await newTab();
  const device = await VirtualAuthenticator.plugInto(page);
  await page.goto(url);
  await acceptInvitation(page, device);
  // With a touch, the virtual device answers the request of the field.
  await device.touchedDuring(async () => {
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.waitForURL(`${IDENTITY_ORIGIN}/sign-in`);
    await page.waitForURL(`${IDENTITY_ORIGIN}/account`);
  });
});

test('a device that does not verify the person is refused with advice', { skip }, async () => {
  const { url } = await world.invite('unverified@example.com');
  const page = await newTab();
  const device = await VirtualAuthenticator.plugInto(page);
  await device.setUserVerified(false);
  await page.goto(url);
  await device.touchedDuring(async () => {
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await page.getByRole('alert').getByText('No passkey was created').waitFor();
  });
  await examine(page, 'advice');
});

test('a page that was opened in spite of a certificate error says why there are no passkeys', { skip }, async () => {
  const stranger = await launchTrustingChromium({ after }, executablePath ?? '', { ca: [], port });
  const page = await (await stranger.newContext()).newPage();
  await assert.rejects(page.goto(`${IDENTITY_ORIGIN}/sign-in`), /ERR_CERT_AUTHORITY_INVALID/);
  // Chromium's words for "proceed". A virtual device would hide the refusal.
  const heading = page.getByRole('heading', { name: 'Log in', level: 1 });
  // The warning takes keys from some moment on, which nothing tells.
  while (!(await heading.isVisible())) {
    await page.keyboard.type('thisisunsafe');
    await page.waitForTimeout(200);
  }
  await page.getByRole('button', { name: 'Log in with a passkey' }).click();
  await page.getByRole('alert').getByText('does not trust the certificate').waitFor();
});

test('keys alone reach and use every control of the login page', { skip }, async () => {
  const page = await newTab();
  await page.goto(`${IDENTITY_ORIGIN}/sign-in`);
  const reached: string[] = [];
  for (const _ of [1, 2]) {
    await page.keyboard.press('Tab');
    reached.push(String(await page.evaluate('document.activeElement.id || document.activeElement.textContent')));
  }
  assert.deepEqual(reached, ['email', 'Log in with a passkey']);
});

test('no page complained, and nothing was asked of other sites', { skip }, () => {
  assert.deepEqual(tabs.complaints, []);
  const own = new Set([IDENTITY_ORIGIN, ...APPS.map((host) => `https://${host}`)]);
  assert.deepEqual(
    [...tabs.requested].filter((origin) => !own.has(origin)),
    [],
  );
});
