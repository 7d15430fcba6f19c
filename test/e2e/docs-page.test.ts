// Long form: opens the page in a browser. Short form: test/api/openapi-page.test.ts
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { TestWorld } from '../support/test-world.ts';

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1440, height: 900 };

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the page of the API is NOT tested in a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);
const world = await TestWorld.open({ after });
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
/** Loaded once: it is one page of a megabyte. */
const desktop = browser === null ? null : await openPage(DESKTOP);

function shared(): OpenedPage {
  return desktop ?? assert.fail();
}

test('the page loads nothing but itself, and violates no rule of its policy', { skip }, async () => {
  const { page, complaints, requests } = shared();
  assert.equal(await page.title(), 'Postern management API');
  assert.deepEqual(complaints, []);
  assert.deepEqual(requests, [`${world.baseUrl}/docs`]);
});

test('the contents lead to an operation, which is then in view', { skip }, async () => {
  const { page, complaints } = shared();
  await page.locator('nav summary', { hasText: 'OIDC module' }).click();
  await page.locator('nav a[href="#https_edge_routes.oidc.replace"]').click();
  assert.equal(new URL(page.url()).hash, '#https_edge_routes.oidc.replace');
  const heading = page.locator('article:target h3');
  assert.match((await heading.textContent()) ?? '', /^Replace the OIDC module/);
  assert.ok(await isInView(page, 'article:target h3'));
  assert.deepEqual(complaints, []);
});

test('a link to an object opens the collapsed section around it', { skip }, async () => {
  const { page } = shared();
  const fields = page.locator('#schema-OidcModule');
  assert.equal(await fields.isVisible(), false);
  await page.locator('article[id="https_edge_routes.oidc.get"] a[href="#schema-OidcModule"]').click();
  await fields.waitFor({ state: 'visible' });
});

test('on a phone the page fits the screen, and the contents are one tap away', { skip }, async () => {
  const { page, complaints } = await openPage(PHONE);
  const width = await page.evaluate('document.documentElement.scrollWidth');
  assert.equal(width, PHONE.width);
  await page.locator('a.to-contents').tap();
  assert.ok(await isInView(page, '#contents .brand'));
  await page.locator('nav summary', { hasText: 'IP policy rule' }).tap();
  await page.locator('nav a[href="#ip_policy_rules.create"]').tap();
  assert.ok(await isInView(page, 'article:target h3'));
  assert.deepEqual(complaints, []);
  await page.close();
});

test('follows dark mode', { skip }, async () => {
  const { page } = shared();
  const ground = 'getComputedStyle(document.body).backgroundColor';
  assert.equal(await page.evaluate(ground), 'rgb(255, 255, 255)');
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.equal(await page.evaluate(ground), 'rgb(18, 22, 29)');
});

interface OpenedPage {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly requests: readonly string[];
}

async function openPage(viewport: typeof PHONE): Promise<OpenedPage> {
  const page = await (browser ?? assert.fail()).newPage({
    viewport,
    colorScheme: 'light',
    hasTouch: viewport === PHONE,
  });
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(`${world.baseUrl}/docs`, { waitUntil: 'load' });
  return { page, complaints, requests };
}

async function isInView(page: Page, selector: string): Promise<boolean> {
  const box = await page.locator(selector).boundingBox();
  const height = page.viewportSize()?.height ?? 0;
  return box !== null && box.y >= 0 && box.y < height;
}
