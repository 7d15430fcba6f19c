// Long form: tabs and the history of a browser. Short form: test/login/browser/pages.test.ts
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { LoginWorld, type Seen } from '../../support/login-world.ts';
import { Chromium, choose, skip } from './visitor.ts';

const world = await LoginWorld.open({ after });
const chromium = await Chromium.open({ after });

/** What the upstream saw of the page's request. */
async function seenBy(page: Page): Promise<Seen> {
  return JSON.parse((await page.locator('body').textContent()) ?? '') as Seen;
}

test('the second visit is not redirected, in another tab either', { skip }, async (t) => {
  const { host } = await world.site();
  const visitor = await chromium.visitor(t);
  const first = await visitor.logIn(`${world.origin(host)}/`);
  const before = visitor.requested.length;
  for (const page of [first, await visitor.newPage()]) {
    const answer = await page.goto(`${world.origin(host)}/again?x=1`);
    assert.equal(answer?.status(), 200);
    assert.equal(answer?.request().redirectedFrom(), null);
  }
  assert.deepEqual(
    visitor.requested.slice(before).filter((url) => !url.endsWith('/again?x=1')),
    [],
  );
});

test('two concurrent tabs both end at their page', { skip }, async (t) => {
  const { host } = await world.site();
  const visitor = await chromium.visitor(t);
  const urls = [`${world.origin(host)}/one?tab=1#first`, `${world.origin(host)}/two?tab=2#second`];
  const tabs = await Promise.all(urls.map(() => visitor.newPage()));
  // Both are at the provider before either continues.
  await Promise.all(tabs.map((tab, at) => tab.goto(urls[at] ?? '')));
  for (const tab of tabs) await tab.getByRole('button', { name: 'Alice Example' }).waitFor();
  for (const [at, tab] of tabs.entries()) {
    await choose(tab);
    await tab.waitForURL(urls[at] ?? '');
    assert.equal((await seenBy(tab)).headers['postern-auth-user-email'], 'alice@example.com');
  }
  // The first one is still logged in, although the other created a new key for the browser.
  await tabs[0]?.reload();
  assert.equal((await seenBy(tabs[0] as Page)).url, '/one?tab=1');
  assert.deepEqual(visitor.complaints, []);
});

test('two tabs of a browser that the provider knows: no click in between', { skip }, async (t) => {
  const [first, second] = [await world.site(), await world.site()];
  const visitor = await chromium.visitor(t);
  await visitor.logIn(`${world.origin(first.host)}/`);
  const urls = [`${world.origin(second.host)}/one#a`, `${world.origin(second.host)}/two#b`];
  const tabs = await Promise.all(urls.map(() => visitor.newPage()));
  await Promise.all(
    tabs.map(async (tab, at) => {
      // A redirect that takes over is not a failure of the first navigation.
      await tab.goto(urls[at] ?? '', { waitUntil: 'commit' });
      await tab.waitForURL(urls[at] ?? '');
    }),
  );
  assert.deepEqual(visitor.complaints, []);
});

test('going back after a login never ends at a dead page', { skip }, async (t) => {
  const { host } = await world.site();
  const visitor = await chromium.visitor(t);
  const page = await visitor.newPage();
  await page.goto(`${world.origin(host)}/start`);
  await choose(page);
  await page.waitForURL(`${world.origin(host)}/start`);
  const callback = visitor.requested.find((url) => url.includes('/.postern/callback')) ?? '';
  const again = await page.goto(callback);
  assert.equal(again?.status(), 200, 'the same answer of the provider a second time');
  assert.equal(new URL(page.url()).pathname, '/');
});
