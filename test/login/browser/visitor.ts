import assert from 'node:assert/strict';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS, chromiumPath } from '../../support/chromium.ts';
import type { Cleanup } from '../../support/cleanup.ts';

const executablePath = chromiumPath();

/** For `test(name, { skip }, …)`: false, or the reason. */
export const skip =
  executablePath === null && 'chromium is not on the PATH: login is NOT tested in a browser, install it to do so';
if (skip !== false) console.error(`\n!! ${skip}\n`);

/** Every name resolves to this machine: the tests' hosts are in no DNS. */
export const LAUNCH = {
  ...(executablePath !== null && { executablePath }),
  args: [...CHROMIUM_FLAGS, '--host-resolver-rules=MAP * 127.0.0.1'],
};

/** One Chromium per test file. */
export class Chromium {
  readonly #browser: Browser | null;

  private constructor(browser: Browser | null) {
    this.#browser = browser;
  }

  static async open(test: Cleanup): Promise<Chromium> {
    const browser = skip === false ? await chromium.launch(LAUNCH) : null;
    test.after(async () => {
      await browser?.close();
    });
    return new Chromium(browser);
  }

  /** A visitor with their own profile, who has never been here. */
  async visitor(test: Cleanup, options: BrowserContextOptions = {}): Promise<Visitor> {
    assert.ok(this.#browser);
    // With a moved clock the edge issues certificates of another day, while Chromium uses its own clock.
    const context = await this.#browser.newContext({ ignoreHTTPSErrors: true, ...options });
    test.after(() => context.close());
    return new Visitor(context);
  }
}

/** A browser profile that records complaints: violations of a page's policy appear nowhere else. */
export class Visitor {
  readonly context: BrowserContext;
  /** Console messages, without those about the status of a response, which tests check themselves. */
  readonly complaints: string[] = [];
  /** Requested URLs. */
  readonly requested: string[] = [];

  constructor(context: BrowserContext) {
    this.context = context;
    context.on('console', (message) => {
      const isStatus = message.text().startsWith('Failed to load resource: the server responded');
      if (message.type() === 'error' && !isStatus) this.complaints.push(message.text());
    });
    context.on('weberror', (error) => this.complaints.push(String(error.error())));
    context.on('request', (request) => this.requested.push(request.url()));
  }

  newPage(): Promise<Page> {
    return this.context.newPage();
  }

  /** In a new tab: opens the URL, logs in as the user, and waits until the URL is shown. */
  async logIn(url: string, user = 'Alice Example'): Promise<Page> {
    const page = await this.newPage();
    await page.goto(url);
    await choose(page, user);
    await page.waitForURL(url);
    return page;
  }

  /** How often the provider was asked for a login. */
  loginsAt(issuer: string): number {
    return this.requested.filter((url) => url.startsWith(`${issuer}/auth?`)).length;
  }
}

/** Clicks on a user on the provider's page. */
export async function choose(page: Page, user = 'Alice Example'): Promise<void> {
  await page.getByRole('button', { name: user }).click();
}
