import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { WebSocketServer } from 'ws';
import { chromiumPath, launchChromium } from '../../support/chromium.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the edge is NOT tested with a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const browser = executablePath === null ? null : await launchChromium({ after }, executablePath, world.ca);
const site = await world.site(await world.staticBackend(upstream.address));
await world.api('PUT', `${site.routePath}/compression`, {});
const origin = `https://${site.host}:${world.port}`;

const FILES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': [
    'text/html',
    '<!doctype html><title>page</title><link rel="stylesheet" href="/a.css"><script src="/a.js"></script>',
  ],
  '/a.css': ['text/css', `body { background: rgb(1, 2, 3) } ${'/* padding */'.repeat(200)}`],
  '/a.js': ['text/javascript', 'globalThis.loaded = true;'],
};
const webSockets = new WebSocketServer({ noServer: true });
upstream.onUpgrade = (request, socket, head) => {
  webSockets.handleUpgrade(request, socket, head, (end) => {
    end.on('message', (data, isBinary) => end.send(data, { binary: isBinary }));
  });
};
/** Called with the number of the event that a page says it has got. */
let onAcknowledged = (_id: number): void => {};
upstream.answer = (request, response) => answer(request, response);

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://upstream');
  const file = FILES[pathname];
  if (file !== undefined) {
    response.writeHead(200, { 'content-type': file[0] });
    response.end(file[1]);
  } else if (pathname === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (id: number): unknown => response.write(`id: ${id}\ndata: event ${id}\n\n`);
    onAcknowledged = (id) => (id < 5 ? send(id + 1) : response.end());
    send(0);
  } else if (pathname === '/got') {
    onAcknowledged(Number(searchParams.get('id')));
    response.writeHead(204);
    response.end();
  } else {
    const parts: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => parts.push(chunk))
      .on('end', () => {
        response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'text/plain' });
        response.end(Buffer.concat(parts));
      });
  }
}

async function opened(path = '/', options = {}): Promise<{ page: Page; complaints: readonly string[] }> {
  const page = await (browser ?? assert.fail()).newPage(options);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => complaints.push(request.url()));
  await page.goto(`${origin}${path}`, { waitUntil: 'load' });
  return { page, complaints };
}

suite('Chromium', { skip }, () => {
  test('a page and what belongs to it come over HTTP/2, compressed', async () => {
    const { page, complaints } = await opened();
    assert.equal(await page.title(), 'page');
    assert.equal(await page.evaluate('globalThis.loaded'), true);
    assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(1, 2, 3)');
    const entries = await page.evaluate(
      `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
        .filter(({ name }) => !name.endsWith('favicon.ico'))
        .map(({ name, nextHopProtocol, encodedBodySize, decodedBodySize }) =>
          [new URL(name).pathname, nextHopProtocol, encodedBodySize < decodedBodySize])`,
    );
    assert.deepEqual(entries, [
      ['/', 'h2', true],
      ['/a.css', 'h2', true],
      ['/a.js', 'h2', false],
    ]);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test('fetch posts a body and gets it back', async () => {
    const { page, complaints } = await opened();
    const size = 500_000;
    const same = await page.evaluate(
      `(async () => {
        const sent = new Uint8Array(${size}).map((_, at) => at * 7);
        const response = await fetch('/echo', { method: 'POST', body: sent, headers: { 'content-type': 'application/octet-stream' } });
        const got = new Uint8Array(await response.arrayBuffer());
        return response.status === 200 && got.length === sent.length && got.every((byte, at) => byte === sent[at]);
      })()`,
    );
    assert.equal(same, true);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test('a WebSocket takes the HTTP/2 connection that is there (RFC 8441)', async () => {
    const { page } = await opened();
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    const status = new Promise<number>((resolve) => {
      session.once('Network.webSocketHandshakeResponseReceived', ({ response }) => resolve(response.status));
    });
    const answers = await page.evaluate(
      `new Promise((resolve, reject) => {
        const socket = new WebSocket('wss://' + location.host + '/ws');
        socket.binaryType = 'arraybuffer';
        const answers = [];
        socket.onopen = () => { socket.send('text'); socket.send(new Uint8Array(70000)); };
        socket.onmessage = ({ data }) => {
          answers.push(typeof data === 'string' ? data : data.byteLength);
          if (answers.length === 2) socket.close(4002, 'enough');
        };
        socket.onclose = ({ code, wasClean }) => resolve([...answers, code, wasClean]);
      })`,
    );
    assert.deepEqual(answers, ['text', 70000, 4002, true]);
    // Over HTTP/1.1 it would be 101.
    assert.equal(await status, 200);
    await page.close();
  });

  test('events of an EventSource come one by one', async () => {
    const { page } = await opened();
    const got = await page.evaluate(
      `new Promise((resolve) => {
        const got = [];
        const source = new EventSource('/events');
        source.onmessage = ({ data, lastEventId }) => { got.push(data); void fetch('/got?id=' + lastEventId); };
        source.onerror = () => { source.close(); resolve(got); };
      })`,
    );
    assert.deepEqual(
      got,
      Array.from({ length: 6 }, (_, id) => `event ${id}`),
    );
    await page.close();
  });

  test('an error page is for reading, in light and in dark, on a phone too', async () => {
    const refused = await world.site();
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await (browser ?? assert.fail()).newPage({ colorScheme, viewport: { width: 390, height: 700 } });
      const complaints: string[] = [];
      page.on('console', (message) => complaints.push(message.text()));
      const response = await page.goto(`https://${refused.host}:${world.port}/`);
      assert.equal(response?.status(), 503);
      assert.match((await page.locator('h1').textContent()) ?? '', /503/);
      assert.match((await page.locator('body').textContent()) ?? '', /nothing behind it yet/);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
      const [ground, ink] = (await page.evaluate(
        `(() => {
          const canvas = document.body.appendChild(document.createElement('div'));
          canvas.style.cssText = 'background: Canvas';
          return [getComputedStyle(canvas).backgroundColor, getComputedStyle(document.querySelector('p')).color].map((color) =>
            color.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0));
        })()`,
      )) as number[];
      assert.equal((ink ?? 0) > (ground ?? 0), colorScheme === 'dark', `ink ${ink} on ${ground}`);
      const shots = process.env['POSTERN_TEST_SCREENSHOTS'];
      if (shots !== undefined) await page.screenshot({ path: `${shots}/error-${colorScheme}.png` });
      // The status itself is a line of the browser's; a broken policy would be another.
      assert.deepEqual(
        complaints.filter((text) => !text.includes('503')),
        [],
      );
      await page.close();
    }
  });
});
