import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { chromium as launcher, type Page } from 'playwright-core';
import type { Cleanup } from '../../support/cleanup.ts';
import { LoginWorld, type Seen } from '../../support/login-world.ts';
import { isLong, shareOfCases } from '../../support/share-of-cases.ts';
import { assertAccessible, assertFocusVisible } from './page-facts.ts';
import { Chromium, choose, LAUNCH, skip, Visitor } from './visitor.ts';

/** Directory for screenshots of the pages, for manual review. */
const screenshots = process.env['POSTERN_TEST_SCREENSHOTS'];

const world = await LoginWorld.open({ after });
const chromium = await Chromium.open({ after });

interface Shown {
  readonly name: string;
  readonly heading: string;
  readonly code?: string;
  /** Navigates a visitor to the page. */
  show(visitor: Visitor, host: string, routeId: string): Promise<Page>;
  /** Another kind of visitor than usual. */
  visitor?(test: Cleanup, host: string): Promise<Visitor>;
  readonly fields?: () => Readonly<Record<string, unknown>>;
}

const PAGES: readonly Shown[] = [
  {
    name: 'login',
    heading: 'Logging in',
    show: async (visitor, host) => {
      const page = await visitor.newPage();
      // A response without content leaves the browser where it is.
      await page.route(/\/\.postern\/login\?.*go=1/, (route) => route.fulfill({ status: 204 }));
      await page.goto(`${world.origin(host)}/orders?x=1#part`, { waitUntil: 'commit' });
      return page;
    },
  },
  {
    name: 'denied',
    heading: 'The login was denied',
    code: 'ERR_POSTERN_LOGIN_DENIED',
    show: async (visitor, host) => {
      const page = await visitor.newPage();
      await page.goto(`${world.origin(host)}/orders?x=1`);
      await choose(page, 'Deny access');
      return page;
    },
  },
  {
    name: 'provider-down',
    heading: 'Login is not possible at the moment',
    code: 'ERR_POSTERN_PROVIDER_UNAVAILABLE',
    // Nobody listens on port 1.
    fields: () => ({ issuer: 'http://127.0.0.1:1' }),
    show: async (visitor, host) => {
      const page = await visitor.newPage();
      await page.goto(`${world.origin(host)}/orders?x=1`);
      return page;
    },
  },
  {
    name: 'cookies-refused',
    heading: 'The login requires cookies',
    code: 'ERR_POSTERN_LOGIN_COOKIES',
    visitor: withoutCookies,
    show: async (visitor, host) => {
      const page = await visitor.newPage();
      await page.goto(`${world.origin(host)}/orders?x=1`);
      await choose(page);
      return page;
    },
  },
  {
    name: 'loop',
    heading: 'The login is stuck in a loop',
    code: 'ERR_POSTERN_LOGIN_LOOP',
    show: async (visitor, host, routeId) => {
      const url = `${world.origin(host)}/orders?x=1`;
      const page = await visitor.logIn(url);
      for (let round = 1; round <= 4; round += 1) {
        await endSessions(routeId);
        await page.goto(url, { waitUntil: 'commit' });
        if (round < 4) await page.waitForURL(url);
      }
      return page;
    },
  },
  {
    name: 'confirm-logout',
    heading: 'Log out?',
    show: async (visitor, host) => {
      const page = await visitor.newPage();
      await page.goto(`${world.origin(host)}/.postern/logout`);
      return page;
    },
  },
  {
    name: 'logged-out',
    heading: 'You are logged out',
    show: async (visitor, host) => {
      const page = await visitor.newPage();
      await page.goto(`${world.origin(host)}/.postern/logout/done`);
      return page;
    },
  },
];

test('the first visit goes to the provider and returns to the exact URL, with its query and fragment', {
  skip,
}, async (t) => {
  const { host } = await world.site();
  const visitor = await chromium.visitor(t);
  const url = `${world.origin(host)}/orders/7?sort=by%20date&q=%C3%A4%2Fb&empty=#part-2/%C3%BC?x=1&y=%23`;
  const page = await visitor.logIn(url);
  assert.equal(page.url(), url);
  const seen = await seenBy(page);
  assert.equal(seen.url, '/orders/7?sort=by%20date&q=%C3%A4%2Fb&empty=');
  assert.equal(seen.headers['postern-auth-user-email'], 'alice@example.com');
  assert.equal(seen.headers.cookie, undefined, 'cookies of the edge are the edge’s own');
  assert.equal(visitor.loginsAt(world.provider.issuer), 1);
  assert.deepEqual(visitor.complaints, []);
});

test('without scripts the login continues automatically, and only the fragment is lost', { skip }, async (t) => {
  const { host } = await world.site();
  const visitor = await chromium.visitor(t, { javaScriptEnabled: false });
  const page = await visitor.newPage();
  await page.goto(`${world.origin(host)}/plain?x=1#part`, { waitUntil: 'commit' });
  await choose(page);
  await page.waitForURL(/\/plain\?x=1/);
  assert.equal((await seenBy(page)).url, '/plain?x=1');
  assert.deepEqual(visitor.complaints, []);
});

for (const [at, shown] of PAGES.entries()) {
  // Another browser takes as long as all other pages.
  if (shown.visitor !== undefined && !isLong) continue;
  test(`the page "${shown.heading}" is readable and usable for everybody, in light and dark`, { skip }, async (t) => {
    const { host, routeId } = await world.site(shown.fields?.());
    const visitor = (await shown.visitor?.(t, host)) ?? (await chromium.visitor(t));
    const page = await shown.show(visitor, host, routeId);
    await page.getByRole('heading', { name: shown.heading, level: 1 }).waitFor();
    if (shown.code !== undefined) await page.getByText(shown.code).waitFor();
    for (const colorScheme of shareOfCases(['light', 'dark'] as const, at, 2)) {
      await page.emulateMedia({ colorScheme });
      await picture(page, `${shown.name}-${colorScheme}`);
      await assertAccessible(page, colorScheme);
    }
    await assertFocusVisible(page);
    const here = [world.origin(host), world.provider.issuer];
    assert.deepEqual(
      visitor.requested.filter((url) => !here.includes(new URL(url).origin)),
      [],
    );
    assert.deepEqual(visitor.complaints, []);
  });
}

test('after a denial the link leads to the login again, and from there to the page', { skip }, async (t) => {
  const { host } = await world.site();
  const visitor = await chromium.visitor(t);
  const page = await visitor.newPage();
  await page.goto(`${world.origin(host)}/orders?x=1`);
  await choose(page, 'Deny access');
  await page.getByRole('link', { name: 'Try again' }).click();
  await choose(page);
  await page.waitForURL(`${world.origin(host)}/orders?x=1`);
  assert.deepEqual(visitor.complaints, []);
});

/** What the upstream saw of the page's request. */
async function seenBy(page: Page): Promise<Seen> {
  return JSON.parse((await page.locator('body').textContent()) ?? '') as Seen;
}

/** A browser whose user has blocked the site's cookies in the settings; the provider keeps its own. */
async function withoutCookies(test: Cleanup, host: string): Promise<Visitor> {
  const profile = await mkdtemp(join(tmpdir(), 'postern-test-'));
  const exceptions = { cookies: { [`${host},*`]: { setting: 2 } } };
  await mkdir(join(profile, 'Default'));
  await writeFile(
    join(profile, 'Default', 'Preferences'),
    JSON.stringify({ profile: { content_settings: { exceptions } } }),
  );
  const context = await launcher.launchPersistentContext(profile, { ...LAUNCH, ignoreHTTPSErrors: true });
  // One hook for both, in this order: a closing browser still writes its profile.
  test.after(async () => {
    await context.close();
    await rm(profile, { recursive: true, force: true });
  });
  return new Visitor(context);
}

async function endSessions(routeId: string): Promise<void> {
  const { application_sessions: all } = await world.edge.api('GET', '/app/sessions?limit=100');
  const own = all.filter((session: { route: { id: string } }) => session.route.id === routeId);
  for (const { id } of own) await world.edge.api('DELETE', `/app/sessions/${id}`);
}

async function picture(page: Page, name: string): Promise<void> {
  if (screenshots === undefined) return;
  await mkdir(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`) });
}
