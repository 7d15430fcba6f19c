// Long form: the test provider in a browser. Short form: test/login/provider-selftest.test.ts
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { IdentityProvider } from '../support/identity-provider.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the provider is NOT tested in a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());

// The return address of logins and logouts; on another name than the provider, as in practice.
const client = createServer((_request, response) => response.end('back at the client')).listen(0, '127.0.0.1');
await new Promise((resolve) => client.once('listening', resolve));
after(() => {
  client.close();
  client.closeAllConnections();
});
const clientUrl = `http://app.localhost:${(client.address() as AddressInfo).port}`;
const provider = await IdentityProvider.open(
  { after },
  {
    clients: [
      {
        client_id: 'app',
        client_secret: 'a-secret',
        redirect_uris: [`${clientUrl}/callback`],
        post_logout_redirect_uris: [`${clientUrl}/logged-out`],
      },
    ],
  },
);

test('a click logs in, also without scripts', { skip }, async () => {
  const { page, complaints } = await openLogin({ javaScriptEnabled: false });
  await page.getByRole('button', { name: 'Alice Example' }).click();
  await page.waitForURL(`${clientUrl}/callback?**`);
  assert.ok(new URL(page.url()).searchParams.get('code'));
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test('cancelling the page is a denial', { skip }, async () => {
  const { page } = await openLogin();
  await page.getByRole('button', { name: 'Deny access' }).click();
  await page.waitForURL(`${clientUrl}/callback?**`);
  assert.equal(new URL(page.url()).searchParams.get('error'), 'access_denied');
  await page.context().close();
});

test('a logout needs no click, and without scripts one', { skip }, async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page, complaints } = await openLogin({ javaScriptEnabled });
    await page.getByRole('button', { name: 'Bob Example' }).click();
    await page.waitForURL(`${clientUrl}/callback?**`);
    const end = new URL('/session/end', provider.issuer);
    end.search = new URLSearchParams({
      client_id: 'app',
      post_logout_redirect_uri: `${clientUrl}/logged-out`,
    }).toString();
    await page.goto(end.href, { waitUntil: 'commit' });
    if (!javaScriptEnabled) await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${clientUrl}/logged-out`);
    assert.deepEqual(complaints, []);
    await page.context().close();
  }
});

async function openLogin(options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  assert.ok(browser);
  const page = await (await browser.newContext(options)).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // The browser requests an icon from the client on its own.
    if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico')) complaints.push(message.text());
  });
  const url = new URL('/auth', provider.issuer);
  url.search = new URLSearchParams({
    client_id: 'app',
    response_type: 'code',
    redirect_uri: `${clientUrl}/callback`,
    scope: 'openid',
    code_challenge: createHash('sha256').update(randomBytes(32).toString('base64url')).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  await page.goto(url.href);
  return { page, complaints };
}
