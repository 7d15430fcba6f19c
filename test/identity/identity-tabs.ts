import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { VirtualAuthenticator } from '../support/trusting-chromium.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Tabs of people at a browser. Complaints are script errors and violations of a page's policy. */
export class IdentityTabs {
  readonly complaints: string[] = [];
  readonly requested = new Set<string>();
  readonly #browser: Browser | null;
  readonly #screenshots: string | undefined;

  /** `screenshots`: a folder for those of examined pages. */
  constructor(browser: Browser | null, screenshots: string | undefined) {
    this.#browser = browser;
    this.#screenshots = screenshots;
  }

  /** A person's own browser, with one tab. */
  async open(): Promise<Page> {
    assert(this.#browser !== null);
    const page = await (await this.#browser.newContext({ viewport: { width: 900, height: 800 } })).newPage();
    this.#follow(page);
    return page;
  }

  /** One more tab in the browser of another one. */
  async beside(other: Page): Promise<Page> {
    const page = await other.context().newPage();
    this.#follow(page);
    return page;
  }

  /** In both themes no finding of axe, and at two widths nothing to scroll sideways for. */
  async examine(page: Page, name: string): Promise<void> {
    for (const width of [900, 360]) {
      await page.setViewportSize({ width, height: 800 });
      assert.equal(
        await page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
        true,
        `${name} at ${width}`,
      );
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        if (this.#screenshots !== undefined) {
          mkdirSync(this.#screenshots, { recursive: true });
          await page.screenshot({
            path: join(this.#screenshots, `${name}-${width}-${colorScheme}.png`),
            fullPage: true,
          });
        }
        if (width !== 360) continue;
        await page.evaluate(AXE);
        const findings = await page.evaluate(
          `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes[0].failureSummary))`,
        );
        assert.deepEqual(findings, [], `${name}, ${colorScheme}`);
      }
    }
    await page.setViewportSize({ width: 900, height: 800 });
  }

  #follow(page: Page): void {
    page.on('console', (message) => {
      const isStatus = message.text().startsWith('Failed to load resource: the server responded');
      if (message.type() === 'error' && !isStatus) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('request', (request) => this.requested.add(new URL(request.url()).origin));
  }
}

/** On the login page, with a passkey of the device. */
export async function logIn(page: Page, device: VirtualAuthenticator): Promise<void> {
  const heading = page.getByRole('heading', { name: 'Log in', level: 1 });
  await heading.waitFor();
  await device.touchedDuring(async () => {
    // The request of the address field may get the touch before the button does.
    await page.evaluate('document.querySelector("form[data-ceremony]")?.requestSubmit()').catch(() => undefined);
    await heading.waitFor({ state: 'detached' });
  });
}

/** On the page of an invitation. */
export async function acceptInvitation(page: Page, device: VirtualAuthenticator): Promise<void> {
  await device.touchedDuring(async () => {
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await page.getByRole('heading', { name: 'My account', level: 1 }).waitFor();
  });
}
