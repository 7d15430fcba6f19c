// Long form: opens the inspector in a browser. Short form: test/docs/inspector.test.ts
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { CHROMIUM_FLAGS, chromiumPath } from '../../support/chromium.ts';
import { InspectorWorld } from './inspector-world.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the inspector is NOT tested in a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());

const HTML = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

async function open(context: TestContext, world: InspectorWorld, options: BrowserContextOptions = {}) {
  const profile = await (browser as Browser).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.after(() => profile.close());
  const page = await profile.newPage();
  const complaints: string[] = [];
  const requested: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'log' && message.type() !== 'info') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => requested.push(request.url()));
  await page.goto(world.inspector.url);
  await page.locator('#agent.online').waitFor();
  return { page, complaints, requested };
}

function row(page: Page, path: string) {
  return page.locator('#requests button', { has: page.locator('.path', { hasText: path }) });
}

test('requests appear live, can be filtered, viewed and cleared', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  const { page, complaints, requested } = await open(context, world);
  assert.equal(await page.locator('#empty').textContent(), 'No requests yet. They appear here as they arrive.');
  await world.pass('/first', {
    method: 'POST',
    headers: { authorization: 'Bearer abc' },
    body: '{"big":12345678901234567890}',
  });
  await row(page, '/first').waitFor();
  world.respond = (_seen, response) => response.writeHead(404).end('none');
  await world.pass('/second');
  await row(page, '/second').waitFor();
  assert.deepEqual(await page.locator('#requests .path').allTextContents(), ['/second', '/first']);
  assert.equal(await row(page, '/second').locator('.status').textContent(), '404');

  await row(page, '/first').click();
  await page.getByRole('heading', { name: 'POST /first' }).waitFor();
  await page.getByRole('row', { name: 'authorization Bearer ••••••••' }).waitFor();
  // Numbers beyond JavaScript's precision are shown as received.
  assert.equal(
    await page.locator('pre[aria-label="Body of the request"]').textContent(),
    '{\n  "big": 12345678901234567890\n}',
  );
  await page.getByLabel('Display format of the request body').selectOption('hex');
  assert.match((await page.locator('pre.hex').textContent()) ?? '', /^000000 {2}7b 22 62 69 67 22 3a .* {2}\{"big":1/);

  await page.locator('#filter-status').selectOption('4xx');
  await row(page, '/first').waitFor({ state: 'detached' });
  assert.equal(await page.locator('#requests li').count(), 1);
  // With a filter, new requests are shown if they match.
  await world.pass('/third');
  await row(page, '/third').waitFor();
  await page.locator('#filter-status').selectOption('');
  await page.locator('#filter-text').fill('path:first');
  await row(page, '/second').waitFor({ state: 'detached' });
  await row(page, '/first').waitFor();
  await page.locator('#filter-text').fill('nothing like this');
  await page.getByText('No request matches the filter.').waitFor();
  await page.locator('#filter-text').fill('');
  await row(page, '/third').waitFor();

  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByText('No requests yet.').waitFor();
  assert.deepEqual(await world.list(), []);
  assert.deepEqual(complaints, []);
  assert.ok(
    requested.every((url) => url.startsWith(`${world.inspector.url}/`)),
    requested.join('\n'),
  );
});

test('a request is replayed, and edited and replayed', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  const { page, complaints } = await open(context, world);
  await world.pass('/in', { method: 'POST', headers: { authorization: 'Bearer abc', 'x-old': '1' }, body: 'before' });
  await row(page, '/in').click();
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.locator('#detail', { hasText: 'replay of' }).waitFor();
  assert.equal((await world.seenBy(2)).body.toString(), 'before');

  await page.getByRole('button', { name: 'Edit and replay' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit and replay' });
  await dialog.getByLabel('Method').selectOption('PUT');
  await dialog.getByLabel('Path').fill('/with space');
  assert.match(await dialog.getByLabel('Headers').inputValue(), /^authorization: Bearer ••••••••\nx-old: 1$/);
  await dialog.getByLabel('Headers').fill('authorization: Bearer ••••••••\nx-new: 2');
  await dialog.getByLabel('Body').fill('after ✓');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await dialog.getByText('must be %-encoded').waitFor();
  assert.equal(world.seen.length, 2);
  await dialog.getByLabel('Path').fill('/out');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'hidden' });
  await page.getByRole('heading', { name: 'PUT /out' }).waitFor();
  await row(page, '/out').waitFor();
  const seen = await world.seenBy(3);
  assert.deepEqual(
    [seen.method, seen.url, seen.headers.authorization, seen.headers['x-new'], seen.headers['x-old']],
    ['PUT', '/out', 'Bearer abc', '2', undefined],
  );
  assert.equal(seen.body.toString(), 'after ✓');
  assert.deepEqual(
    complaints.filter((text) => !text.includes('400 (Bad Request)')),
    [],
  );
});

test('shows everything from the network as text', { skip }, async (context) => {
  const world = await InspectorWorld.open(context, {}, [{ name: HTML }]);
  world.respond = (_seen, response) => {
    response.setHeader('x-html', HTML).setHeader('content-type', `text/html; x=${HTML}`);
    response.end(HTML);
  };
  const { page, complaints } = await open(context, world);
  await world.pass(`/${HTML.replaceAll(' ', '%20')}`, { method: 'POST', headers: { 'x-html': HTML }, body: HTML });
  await page.locator('#requests button').click();
  await page.getByRole('heading', { level: 2 }).waitFor();
  assert.equal(await page.locator('pre[aria-label="Body of the response"]').textContent(), HTML);
  await page.locator('#filter-text').fill(HTML);
  await page.getByRole('button', { name: 'Edit and replay' }).click();
  assert.equal(await page.getByLabel('Body', { exact: true }).inputValue(), HTML);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('has a space').or(page.getByText('replay of')).first().waitFor();
  assert.equal(await page.evaluate('window.hacked'), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await page.locator('script').count(), 1);
  assert.deepEqual(complaints, []);
});

test('the policy would stop a script anyway', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  const { page, complaints } = await open(context, world);
  const result = await page.evaluate(`(() => {
    try { document.body.innerHTML += ${JSON.stringify(HTML.replace('</script>', '<\\/script>'))}; return 'set'; } catch (error) { return error.name; }
  })()`);
  assert.equal(result, 'TypeError');
  assert.equal(await page.evaluate('window.hacked'), undefined);
  assert.ok(complaints.length > 0, 'and the browser says so');
});

test('a page of another origin can neither read, write, frame nor embed', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  await world.pass('/kept');
  const { id } = await world.newest();
  const evil = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>');
  }).listen(0, '127.0.0.1');
  await once(evil, 'listening');
  context.after(() => evil.closeAllConnections());
  context.after(() => evil.close());
  const profile = await (browser as Browser).newContext();
  context.after(() => profile.close());
  const page = await profile.newPage();
  // Another port of the same machine is the closest origin that an attacker can have.
  await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
  const { url } = world.inspector;
  const tried = await page.evaluate<Record<string, string>>(`(async () => {
    const outcome = (promise) => promise.then((value) => 'ok ' + value, (error) => error.name);
    const load = (tag, address) => new Promise((resolve, reject) => {
      const made = document.createElement(tag);
      made.onload = resolve; made.onerror = reject; made.src = address; document.body.append(made);
    });
    const frame = document.createElement('iframe');
    frame.src = '${url}/';
    const framed = new Promise((resolve) => { frame.onload = () => resolve(frame.contentDocument === null); });
    document.body.append(frame);
    return {
      page: await outcome(fetch('${url}/').then((r) => r.text())),
      opaque: await outcome(fetch('${url}/api/status', { mode: 'no-cors' }).then((r) => r.type)),
      json: await outcome(fetch('${url}/api/requests/http', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"id":"${id}"}' })),
      simple: await outcome(fetch('${url}/api/requests/http', { method: 'POST', mode: 'no-cors', body: '{"id":"${id}"}' }).then((r) => r.type)),
      events: await new Promise((resolve) => { const s = new EventSource('${url}/api/events'); s.onopen = () => resolve('open'); s.onerror = () => resolve('error'); }),
      script: await load('script', '${url}/api/status').then(() => 'loaded', () => 'error'),
      framed: String(await framed),
    };
  })()`);
  assert.equal(tried['page'], 'TypeError');
  assert.equal(tried['opaque'], 'TypeError');
  assert.equal(tried['json'], 'TypeError');
  assert.equal(tried['events'], 'error');
  assert.equal(tried['script'], 'error');
  assert.equal(world.seen.length, 1, 'nothing was replayed');
  const frames = await Promise.all(
    page
      .frames()
      .slice(1)
      .map((frame) => frame.content().catch(() => '')),
  );
  assert.ok(frames.every((content) => !content.includes('Postern inspector')));
});

test('everything can be reached with the keyboard', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  const { page } = await open(context, world);
  for (const path of ['/a', '/b', '/c']) await world.pass(path);
  await row(page, '/c').waitFor();
  await page.keyboard.press('/');
  const focused = () => page.evaluate<string>('document.activeElement.id || document.activeElement.innerText');
  assert.equal(await focused(), 'filter-text');
  await page.keyboard.press('Escape');
  assert.match(await focused(), /\/c/);
  await page.keyboard.press('ArrowDown');
  assert.match(await focused(), /\/b/);
  await page.getByRole('heading', { name: 'GET /b' }).waitFor();
  await page.keyboard.press('End');
  await page.getByRole('heading', { name: 'GET /a' }).waitFor();
  // One request in the Tab order, then its actions.
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Replay');
  await page.keyboard.press('Enter');
  await page.locator('#detail', { hasText: 'replay of' }).waitFor();
  // The pressed button is available again for the next one.
  await page.waitForFunction("document.activeElement.textContent === 'Replay'");
  await world.seenBy(4);
  assert.equal(world.seen.length, 4);
});

test('nothing is wider than the screen on a phone, and dark mode is followed', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  const { page, complaints } = await open(context, world, {
    viewport: { width: 360, height: 740 },
    colorScheme: 'dark',
  });
  await world.pass(`/${'long'.repeat(60)}`, { headers: { 'x-long': 'v'.repeat(400) } });
  await page.locator('#requests button').click();
  await page.getByRole('heading', { level: 2 }).waitFor();
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
  assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(21, 23, 27)');
  assert.deepEqual(complaints, []);
});

test('the page reports that the agent is gone', { skip }, async (context) => {
  const world = await InspectorWorld.open(context);
  const { page } = await open(context, world);
  await world.inspector.close();
  await page.locator('#agent.lost', { hasText: 'check that it is running' }).waitFor();
});
