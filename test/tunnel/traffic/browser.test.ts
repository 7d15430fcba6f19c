import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { WebSocketServer } from 'ws';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { chromiumPath, launchChromium } from '../../support/chromium.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: tunnels are NOT tested with a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);

const local = await recordingUpstream({ after });
const world = await TunnelWorld.open({ after });
const ways = await bothWays(world, { addr: local.address });
const browser = executablePath === null ? null : await launchChromium({ after }, executablePath, world.edge.ca);

const FILES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': [
    'text/html',
    '<!doctype html><title>page</title><link rel="stylesheet" href="/a.css"><script src="/a.js"></script>',
  ],
  '/a.css': ['text/css', `body { background: rgb(1, 2, 3) } ${'/* padding */'.repeat(200)}`],
  '/a.js': ['text/javascript', 'globalThis.loaded = true;'],
};
const webSockets = new WebSocketServer({ noServer: true });
local.onUpgrade = (request, socket, head) => {
  webSockets.handleUpgrade(request, socket, head, (end) => {
    end.on('message', (data, isBinary) => end.send(data, { binary: isBinary }));
  });
};
/** Called with the number of the event that a page says it has got. */
let onAcknowledged = (_id: number): void => {};
local.answer = answer;

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://local');
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
    response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'text/plain' });
    request.pipe(response);
  }
}

for (const { name, url } of ways) {
  const opened = async (): Promise<{ page: Page; complaints: readonly string[] }> => {
    const page = await (browser ?? assert.fail()).newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('requestfailed', (request) => complaints.push(request.url()));
    await page.goto(`${url}/`, { waitUntil: 'load' });
    return { page, complaints };
  };

  suite(`Chromium through ${name}`, { skip }, () => {
    test('a page and what belongs to it come over HTTP/2', async () => {
      const { page, complaints } = await opened();
      assert.equal(await page.title(), 'page');
      assert.equal(await page.evaluate('globalThis.loaded'), true);
      assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(1, 2, 3)');
      const entries = await page.evaluate(
        `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .filter(({ name }) => !name.endsWith('favicon.ico'))
          .map(({ name, nextHopProtocol }) => [new URL(name).pathname, nextHopProtocol])`,
      );
      assert.deepEqual(entries, [
        ['/', 'h2'],
        ['/a.css', 'h2'],
        ['/a.js', 'h2'],
      ]);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    test('fetch posts a body and gets it back', async () => {
      const { page, complaints } = await opened();
      const isSame = await page.evaluate(
        `(async () => {
          const sent = new Uint8Array(500_000).map((_, at) => at * 7);
          const response = await fetch('/echo', { method: 'POST', body: sent });
          const got = new Uint8Array(await response.arrayBuffer());
          return response.status === 200 && got.length === sent.length && got.every((byte, at) => byte === sent[at]);
        })()`,
      );
      assert.equal(isSame, true);
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
        `new Promise((resolve) => {
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
  });
}
