// Own process: it trusts the authority of the mail server.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { decodeJwt } from 'jose';
import type { Page } from 'playwright-core';
import { connect } from '../../src/tunnel/agent/index.ts';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { recordingUpstream } from '../edge/traffic/recording-upstream.ts';
import { chromiumPath } from '../support/chromium.ts';
import { IDENTITY_HOST, IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';
import { MailServer } from '../support/mail-server.ts';
import { launchTrustingChromium, VirtualAuthenticator } from '../support/trusting-chromium.ts';
import { acceptInvitation, IdentityTabs, logIn } from './identity-tabs.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: passkeys are NOT tested in a browser';
const APP = 'app.example.test';
const WIKI = 'wiki.example.test';

buildConsoleIfStale();
const authority = await issue({ commonName: 'CA of mail servers', isCa: true });
setDefaultCACertificates([...getCACertificates('default'), authority.certificatePem]);
const certificate = await issue({
  ...{ commonName: 'localhost', dnsNames: ['localhost'], usages: ['server'], issuer: authority },
});
const login = { user: 'postern', password: 'secret-of-the-mail-server' };
const mail = await MailServer.open({ after }, { tls: 'starttls', certificate, login });
const world = await IdentityWorld.open(
  { after },
  {
    env: {
      ...{ POSTERN_DOMAIN: 'example.test', POSTERN_IDENTITY_EMAIL_CODES: 'true' },
      ...{ POSTERN_ROLES: 'api,edge,gateway', POSTERN_TUNNEL_LISTEN: '127.0.0.1:0' },
      POSTERN_SMTP_URL: mail.urlAt('localhost', `${login.user}:${login.password}@`),
      POSTERN_MAIL_FROM: 'postern@example.test',
    },
  },
);
const { ca, port } = world.edge;
const { baseUrl } = world.edge.world;
const browser = skip === false ? await launchTrustingChromium({ after }, executablePath ?? '', { ca, port }) : null;
const tabs = new IdentityTabs(browser, process.env['POSTERN_IDENTITY_SCREENSHOTS']);
const site = await world.edge.site(await world.edge.httpResponse(`welcome to ${APP}`), APP);
await world.edge.api('PUT', `${site.routePath}/oidc`, { issuer: IDENTITY_ORIGIN });
await world.edge.site(await world.edge.httpResponse('welcome to the wiki'), WIKI);

/** Asks for a code on the login page, and enters the one from the mail. */
async function signInByCode(page: Page, address: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(address);
  await page.getByRole('button', { name: 'Send a code by e-mail' }).click();
  await page.getByRole('heading', { name: 'Enter the code', level: 1 }).waitFor();
  const { code, isEncrypted, user } = await mail.codeTo(address);
  assert.deepEqual([isEncrypted, user], [true, login.user]);
  await page.getByLabel('Code', { exact: true }).fill(code.toLowerCase());
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
}

test('the first administrator comes from the link of the server to the console', { skip }, async () => {
  const page = await tabs.open();
  const device = await VirtualAuthenticator.plugInto(page);
  await page.goto((await readFile(join(world.edge.world.dataDir, 'first-administrator'), 'utf8')).trim());
  await acceptInvitation(page, device);
  await tabs.examine(page, 'administrator');
  await page.getByRole('link', { name: 'Open the console' }).click();
  await page.getByRole('link', { name: 'Log in with a passkey' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.getByText(`admin@${IDENTITY_HOST}`).first().waitFor();

  // The list of sessions names the account, whose page has its sessions.
  const pages = page.getByRole('navigation', { name: 'Pages' });
  await pages.getByRole('link', { name: 'Console sessions' }).click();
  await page.getByLabel('Search console sessions').fill('admin@');
  const own = page.locator('tr.row', { hasText: 'this one' });
  await own.getByRole('link', { name: `Administrator (admin@${IDENTITY_HOST})` }).click();
  await page.getByRole('heading', { name: 'Administrator', level: 1 }).waitFor();
  await page
    .getByRole('region', { name: 'Logged in to this console' })
    .first()
    .getByText(/^Chrome \d+ on/)
    .waitFor();
  await pages.getByRole('link', { name: 'Overview' }).click();

  // Without a session at the identity host, it asks.
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('link', { name: 'Log in with a passkey' }).waitFor();
  await page.goto(`${IDENTITY_ORIGIN}/account`);
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.goto(`${baseUrl}/console/`);
  await page.getByRole('link', { name: 'Log in with a passkey' }).click();
  await logIn(page, device);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();

  // Logging out everywhere ends the console too, without a click there: its pulse ends.
  const account = await tabs.beside(page);
  await account.goto(`${IDENTITY_ORIGIN}/account`);
  await account.getByRole('button', { name: 'Log out everywhere' }).click();
  await account.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
  await page.bringToFront();
  await page.getByText('Your session ended').waitFor();
});

test('a code is sent while the browser waits for a passkey, and by Enter where the device keeps none', {
  skip,
}, async () => {
  const { url } = await world.invite('eve@example.com', { name: 'Eve' });
  const laptop = await tabs.open();
  const device = await VirtualAuthenticator.plugInto(laptop);
  await laptop.goto(url);
  await acceptInvitation(laptop, device);

  const desk = await tabs.open();
  await desk.goto(`${IDENTITY_ORIGIN}/sign-in`);
  await desk.getByLabel('E-mail address').fill('eve@example.com');
  await desk.getByRole('button', { name: 'Log in with a passkey' }).click();
  await desk.locator('form[aria-busy=true]').waitFor();
  // Chromium gives a page no clicks while its dialog is open; other browsers do.
  await desk.getByRole('button', { name: 'Send a code by e-mail' }).dispatchEvent('click');
  await desk.getByRole('heading', { name: 'Enter the code', level: 1 }).waitFor();
  await mail.codeTo('eve@example.com');

  await desk.goto(`${IDENTITY_ORIGIN}/sign-in`);
  await desk.getByLabel('E-mail address').fill('eve@example.com');
  await desk.getByLabel('E-mail address').press('Enter');
  await desk.getByRole('heading', { name: 'Enter the code', level: 1 }).waitFor();

  await desk.goto((await world.invite('fay@example.com', { name: 'Fay' })).url);
  // In the time of the browser, not of the server.
  const shown = desk.locator('time');
  const local = await shown.evaluate((time: { dateTime: string }) =>
    new Date(time.dateTime).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }),
  );
  const text = (await shown.textContent()) ?? '';
  assert.ok(text.includes(local) && !text.includes('UTC'), text);
});

test('Enter asks a device that keeps passkeys, and the button for a code ends the wait for one that never answers', {
  skip,
}, async () => {
  const { url } = await world.invite('gil@example.com', { name: 'Gil' });
  const page = await tabs.open();
  // Nobody touches it from here on.
  const device = await VirtualAuthenticator.plugInto(page);
  await page.goto(url);
  await acceptInvitation(page, device);
  await page.getByRole('button', { name: 'Log out', exact: true }).click();
  await page.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
  await page.getByLabel('E-mail address').fill('gil@example.com');
  await page.getByLabel('E-mail address').press('Enter');
  await page.locator('form[aria-busy=true]').waitFor();
  const send = page.getByRole('button', { name: 'Send a code by e-mail' });
  await send.click();
  await page.getByRole('heading', { name: 'Enter the code', level: 1 }).waitFor();
  const { code } = await mail.codeTo('gil@example.com');
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor();
});

test('a person logs in with a code from a real mail, and logs out everywhere', { skip }, async () => {
  const { url } = await world.invite('ana@example.com', { name: 'Ana' });
  const laptop = await tabs.open();
  const device = await VirtualAuthenticator.plugInto(laptop);
  await laptop.goto(url);
  await acceptInvitation(laptop, device);
  await laptop.goto(`https://${APP}/`);
  await laptop.getByText(`welcome to ${APP}`).waitFor();

  const phone = await tabs.open();
  await phone.goto(`https://${APP}/`);
  await phone.getByText('continue to').waitFor();
  await tabs.examine(phone, 'sign-in-with-code');
  await phone.getByLabel('E-mail address').fill('nobody');
  await phone.getByRole('button', { name: 'Send a code by e-mail' }).click();
  await phone.getByRole('heading', { name: 'Enter your address' }).waitFor();
  await tabs.examine(phone, 'no-address');
  await phone.getByRole('link', { name: 'Back' }).click();
  await signInByCode(phone, 'ana@example.com');
  await phone.getByText(`welcome to ${APP}`).waitFor();
  await phone.goto(`${IDENTITY_ORIGIN}/account`);
  await phone.getByRole('button', { name: 'Confirm with a passkey' }).waitFor();
  await phone.getByText('Another browser').waitFor();
  assert.equal(await phone.getByRole('link', { name: 'Open the console' }).count(), 0);
  await tabs.examine(phone, 'account-by-code');

  await laptop.goto(`${IDENTITY_ORIGIN}/account`);
  await laptop.getByRole('button', { name: 'Log out everywhere' }).click();
  await laptop.getByRole('heading', { name: 'Log in', level: 1 }).waitFor();
  for (const page of [laptop, phone]) {
    await page.goto(`https://${APP}/`);
    await page.getByText('continue to').waitFor();
  }
  // The passkey stays.
  await logIn(laptop, device);
  await laptop.getByText(`welcome to ${APP}`).waitFor();
});

test('a person is asked before the service of an agent learns who they are', { skip }, async (t) => {
  const upstream = await recordingUpstream(t);
  const { token } = await world.edge.api('POST', '/credentials', { description: 'Laptop of Ben' });
  const agent = await connect({
    serverAddr: `127.0.0.1:${world.edge.world.server.addresses.tunnel?.port ?? 0}`,
    authtoken: token,
    ca: [...ca],
    tunnels: [{ proto: 'https', addr: upstream.address, domain: 'agent.example.test', modules: { oidc: {} } }],
  });
  t.after(() => agent.close());
  const { url } = await world.invite('cleo@example.com', { name: 'Cleo' });
  const page = await tabs.open();
  await page.goto(url);
  await acceptInvitation(page, await VirtualAuthenticator.plugInto(page));
  await page.goto('https://agent.example.test/');
  await page.getByText('Laptop of Ben').waitFor();
  await tabs.examine(page, 'consent');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL('https://agent.example.test/');
  await page.goto(`${IDENTITY_ORIGIN}/account`);
  await page.getByRole('button', { name: /^Withdraw for agent\.example\.test/ }).waitFor();
  await tabs.examine(page, 'consents');
});

test('a wrong code gets advice, and leads back to the field', { skip }, async () => {
  await world.invite('ben@example.com');
  const page = await tabs.open();
  await page.goto(`${IDENTITY_ORIGIN}/sign-in`);
  await page.getByLabel('E-mail address').fill('ben@example.com');
  await page.getByRole('button', { name: 'Send a code by e-mail' }).click();
  await page.getByRole('heading', { name: 'Enter the code', level: 1 }).waitFor();
  await tabs.examine(page, 'code');
  await page.getByLabel('Code', { exact: true }).fill('AAAA-AAAA');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await page.getByRole('heading', { name: 'This code does not work' }).waitFor();
  await tabs.examine(page, 'wrong-code');
  await page.getByRole('link', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Enter the code', level: 1 }).waitFor();
});

test('an application gets a new proof with prompt=login and max_age, and none without', { skip }, async () => {
  const redirectUri = `https://${WIKI}/callback`;
  const { client_id: clientId, client_secret: secret } = await world.edge.api('POST', '/oidc_clients', {
    ...{ name: 'Wiki', redirect_uris: [redirectUri], allow_groups: ['*'] },
  });
  const { url } = await world.invite('carla@example.com');
  const page = await tabs.open();
  const device = await VirtualAuthenticator.plugInto(page);
  await page.goto(url);
  await acceptInvitation(page, device);
  const firstAuthTime = await ask({}, null);
  // Within its limit, the session is enough.
  assert.equal(await ask({ max_age: '3600' }, null), firstAuthTime);
  // The library that compares the times has the clock of the machine.
  await page.waitForTimeout(2_100);
  const second = await ask({ prompt: 'login' }, 'Log in again to continue to Wiki');
  assert.ok(second > firstAuthTime, `${firstAuthTime}, then ${second}`);
  await page.waitForTimeout(2_100);
  const third = await ask({ max_age: '1' }, 'Log in again to continue to Wiki');
  assert.ok(third > second, `${second}, then ${third}`);

  /** Time of the proof, by the ID token. */
  async function ask(params: Readonly<Record<string, string>>, question: string | null): Promise<number> {
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      ...{ client_id: clientId, redirect_uri: redirectUri, response_type: 'code', scope: 'openid', ...params },
      ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
    });
    await page.goto(`${IDENTITY_ORIGIN}/auth?${query.toString()}`);
    if (question !== null) {
      await page.getByText(question).waitFor();
      await tabs.examine(page, 'sign-in-again');
      await logIn(page, device);
    }
    await page.getByText('welcome to the wiki').waitFor();
    const answer = await world.edge.ask(IDENTITY_HOST, '/token', {
      method: 'POST',
      rejectUnauthorized: false,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      },
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier },
        code: new URL(page.url()).searchParams.get('code') ?? '',
      }).toString(),
    });
    assert.equal(answer.status, 200, answer.text);
    const { auth_time: time, amr } = decodeJwt(JSON.parse(answer.text).id_token);
    assert.deepEqual(amr, ['pop']);
    return time as number;
  }
});

test('no page complained', { skip }, () => assert.deepEqual(tabs.complaints, []));
