import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';

buildConsoleIfStale();
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());

test('a dismissed alert leaves the overview at once, and stays in the list of alerts', { skip }, async (t) => {
  const world = await TestWorld.open(t, {
    env: {
      POSTERN_ROLES: 'api,events',
      POSTERN_ALERT_DELIVERY_STUCK: '1',
      POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8',
    },
  });
  const target = { webhook: { url: 'http://127.0.0.1:1/' } };
  const { body: destination } = await world.api('POST', '/event_destinations', { target });
  const sources = [{ type: 'event_destination_updated.v0' }];
  await world.api('POST', '/event_subscriptions', { destination_ids: [destination.id], sources });
  await world.api('PATCH', `/event_destinations/${destination.id}`, { description: 'chat' });

  const admin = await ConsoleVisitor.open(browser as Browser, world.baseUrl);
  await admin.logIn(TEST_API_KEY);
  const { page } = admin;
  const problems = page.getByRole('region', { name: 'Problems' });
  const alert = problems.getByRole('listitem').filter({ hasText: 'the event destination "chat"' });
  while ((await world.api('GET', '/alerts')).body.alerts.length === 0) await page.waitForTimeout(100);
  await admin.go('/settings');
  await admin.go('/');
  await alert.getByText('check the destination').waitFor();
  // A page that is opened again while the answer is on its way shows the alert, and forgets it with the answer.
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/dismiss', async (route) => {
    await held;
    await route.continue();
  });
  await alert.getByRole('button', { name: 'Dismiss' }).click();
  await admin.go('/settings');
  await admin.go('/');
  await alert.waitFor();
  release();
  await page.getByRole('status').getByText('The alert is dismissed').waitFor();
  await problems.getByRole('heading', { name: 'No problems found' }).waitFor();
  assert.equal(await alert.count(), 0);
  await admin.go('/resources/alerts');
  await page.locator('tr.row', { hasText: 'accepts no events' }).waitFor();
  await admin.close();
});
