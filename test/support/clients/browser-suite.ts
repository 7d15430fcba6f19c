import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';

export interface BrowserSuiteOptions {
  readonly name: string;
  /** Address of the site of `serveBrowserSite`, without a path. */
  readonly url: string;
  readonly isCompressed: boolean;
  /** Null skips the suite. */
  readonly browser: Browser | null;
}

/** What a browser must be able to do on every path to the site. */
export function browserSuite({ name, url, isCompressed, browser }: BrowserSuiteOptions): void {
  const opened = async (): Promise<{ page: Page; complaints: readonly string[] }> => {
    const page = await (browser ?? assert.fail()).newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('requestfailed', (request) => complaints.push(request.url()));
    await page.goto(`${url}/`, { waitUntil: 'load' });
    return { page, complaints };
  };

  suite(`Chromium through ${name}`, { skip: browser === null }, () => {
    test(`a page and its resources arrive over HTTP/2, ${isCompressed ? '' : 'not '}compressed`, async () => {
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
        ['/', 'h2', isCompressed],
        ['/a.css', 'h2', isCompressed],
        // Too short to benefit from compression.
        ['/a.js', 'h2', false],
      ]);
      assert.deepEqual(complaints, []);
      await page.close();
    });

    // Without a type it comes back as text, which a compressing path compresses.
    for (const [path, type] of [
      ['/echo-whole', 'application/octet-stream'],
      ['/echo', null],
    ] as const) {
      test(`fetch posts a body and gets it back: ${path}, ${type ?? 'no type'}`, async () => {
        const { page, complaints } = await opened();
        const headers = JSON.stringify(type === null ? {} : { 'content-type': type });
        const isSame = await page.evaluate(
          `(async () => {
            const sent = new Uint8Array(500_000).map((_, at) => at * 7);
            const response = await fetch('${path}', { method: 'POST', body: sent, headers: ${headers} });
            const got = new Uint8Array(await response.arrayBuffer());
            return response.status === 200 && got.length === sent.length && got.every((byte, at) => byte === sent[at]);
          })()`,
        );
        assert.equal(isSame, true);
        assert.deepEqual(complaints, []);
        await page.close();
      });
    }

    test('a WebSocket uses the existing HTTP/2 connection (RFC 8441)', async () => {
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

    test('events of an EventSource arrive one by one', async () => {
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
