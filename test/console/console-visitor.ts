import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** More than a page has to reach with the keyboard. */
const MAX_TABS = 150;

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** A person with the console open. Complaints are script errors and violations of the page's policy. */
export class ConsoleVisitor {
  readonly page: Page;
  readonly complaints: string[] = [];
  readonly requested: string[] = [];
  readonly #context: BrowserContext;
  readonly #baseUrl: string;

  private constructor(context: BrowserContext, page: Page, baseUrl: string) {
    this.#context = context;
    this.page = page;
    this.#baseUrl = baseUrl;
    page.on('console', (message) => {
      const isStatus = message.text().startsWith('Failed to load resource: the server responded');
      if (message.type() === 'error' && !isStatus) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('dialog', (dialog) => {
      this.complaints.push(`a script opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => this.requested.push(request.url()));
  }

  static async open(browser: Browser, baseUrl: string, options: BrowserContextOptions = {}): Promise<ConsoleVisitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    return new ConsoleVisitor(context, await context.newPage(), baseUrl);
  }

  async logIn(apiKey: string): Promise<void> {
    await this.page.goto(`${this.#baseUrl}/console/`);
    await this.page.getByLabel('API key').fill(apiKey);
    await this.page.getByRole('button', { name: 'Log in' }).click();
    await this.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  }

  /** As a link would: without loading the page again. */
  async go(below: string): Promise<void> {
    await this.page.evaluate(
      `history.pushState(null, '', ${JSON.stringify(`/console${below}`)}); dispatchEvent(new PopStateEvent('popstate'))`,
    );
    await this.settle();
  }

  /** Nothing is being loaded. */
  async settle(): Promise<void> {
    await this.page.locator('main h1').first().waitFor();
    await this.page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
  }

  async navigate(name: string): Promise<void> {
    await this.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
    await this.page.getByRole('heading', { name, level: 1 }).waitFor();
  }

  /** Reviews and saves the open form. */
  async save(): Promise<void> {
    const dialog = this.page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Review changes' }).click();
    await dialog.getByRole('region', { name: 'Changes' }).waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  async addModule(title: string, fill: () => Promise<void>): Promise<void> {
    await this.page.getByLabel('Add a module').selectOption({ label: title });
    await this.page.getByRole('dialog', { name: `Add ${title}` }).waitFor();
    await fill();
    await this.save();
    await this.page.getByRole('region', { name: `${title} module` }).waitFor();
  }

  /** At three widths, in both themes. */
  async photograph(path: string): Promise<void> {
    const before = this.page.viewportSize();
    for (const width of [1920, 1280, 360]) {
      await this.page.setViewportSize({ width, height: width === 360 ? 780 : 900 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await this.page.emulateMedia({ colorScheme });
        await this.page.screenshot({ path: `${path}-${width}-${colorScheme}.png` });
      }
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
    if (before !== null) await this.page.setViewportSize(before);
  }

  /** Everything that axe-core finds on the page as it is, whatever its impact, with its advice on good practice. */
  async axeFindings(): Promise<readonly string[]> {
    if ((await this.page.evaluate('typeof globalThis.axe')) !== 'object') await this.page.evaluate(AXE);
    const { violations } = (await this.page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
      violations: readonly Finding[];
    };
    return violations.map(
      ({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.target.join(' ')} ${nodes[0]?.failureSummary}`,
    );
  }

  /** As somebody without a mouse: Tab until it has the focus, then Enter. `tabTo` does the first half. */
  async pressByKeyboard(target: Locator): Promise<void> {
    await this.tabTo(target);
    await this.page.keyboard.press('Enter');
  }

  async tabTo(target: Locator): Promise<void> {
    await target.waitFor();
    const focused = target.and(this.page.locator(':focus'));
    for (let tabs = 0; (await focused.count()) === 0; tabs += 1) {
      assert.ok(tabs < MAX_TABS, `${target.toString()} is not reached with Tab`);
      await this.page.keyboard.press('Tab');
    }
  }

  async close(): Promise<void> {
    assert.deepEqual(this.complaints, []);
    await this.#context.close();
  }
}
