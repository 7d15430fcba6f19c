import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { afterEach, suite, test } from 'node:test';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { openWebSocketOverHttp2 } from '../../edge/traffic/web-socket.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { blocks, expectedHash, hashOf } from '../../tunnel/traffic/blocks.ts';
import type { FarWay } from './far-ways.ts';

/** More than all windows and buffers on the way hold. A busy system has larger ones: 64 MiB were not enough. */
const MOST_BYTES = 512 * 1024 * 1024;

/** HTTP/1.1 and HTTP/2 across a hop. */
export function httpSuite({ name, edge, host, isCompressed }: FarWay, upstream: RecordingUpstream): void {
  suite(`HTTP through ${name}`, () => {
    afterEach(() => {
      upstream.answer = null;
    });

    test('HTTP/1.1: the service sees what the client sent, once, and nothing of the hop', async () => {
      upstream.forget();
      const answer = await edge.ask(host, '/a/b%20c?d=e', { method: 'POST', body: 'x=y', headers: { 'x-asked': 'a' } });
      assert.equal(answer.status, 200);
      const seen = JSON.parse(answer.text);
      assert.deepEqual([seen.method, seen.url, seen.body], ['POST', '/a/b%20c?d=e', 'x=y']);
      assert.equal(seen.headers['x-asked'], 'a');
      assert.equal(seen.headers['x-forwarded-for'], '127.0.0.1');
      const internal = Object.keys(seen.headers).filter((field) => /postern-(tunnel|peer|node|hop)/.test(field));
      assert.deepEqual(internal, []);
      assert.equal(upstream.seen.length, 1);
    });

    test('HTTP/2: many requests at once, each with its own answer', async () => {
      const session = await edge.http2(host);
      const answers = Array.from({ length: 50 }, async (_, n) => {
        const stream = session.request({ ':path': `/${n}` });
        return JSON.parse(await text(stream)).url as string;
      });
      assert.deepEqual(
        await Promise.all(answers),
        Array.from({ length: 50 }, (_, n) => `/${n}`),
      );
      session.close();
    });

    test('informational responses and trailers arrive', async () => {
      upstream.answer = (_request, response) => {
        response.writeEarlyHints({ link: '</style.css>; rel=preload' });
        response.writeHead(200, { trailer: 'x-sum', 'content-type': 'application/octet-stream' });
        response.write('body');
        response.addTrailers({ 'x-sum': '42' });
        response.end();
      };
      const session = await edge.http2(host);
      const stream = session.request({ ':path': '/', te: 'trailers' });
      const hints: IncomingHttpHeaders[] = [];
      stream.on('headers', (headers) => hints.push(headers));
      const trailers = once(stream, 'trailers');
      assert.equal(await text(stream), 'body');
      assert.equal((await trailers)[0]['x-sum'], '42');
      assert.deepEqual(
        hints.map((headers) => [headers[':status'], headers['link']]),
        [[103, '</style.css>; rel=preload']],
      );
      session.close();
    });

    // The upload fills tens of megabytes of buffers, and a compressed response has no part in that.
    if (isLong || !isCompressed)
      test('an upload waits for a service that reads late, and arrives complete', async () => {
        let resume = (): void => {};
        const arrived = new Promise<void>((resolve) => {
          upstream.answer = (request, response) => {
            resume = () =>
              void hashOf(request).then(
                (hash) => response.end(hash),
                () => {},
              );
            resolve();
          };
        });
        const sent = requestHttps({
          ...edge.tlsOptions(host),
          agent: false,
          method: 'POST',
          path: '/',
          headers: { host },
        });
        const answered = once(sent, 'response');
        let taken = 0;
        let isEnough = false;
        const source = blocks(MOST_BYTES, () => isEnough);
        source.on('data', (chunk: Buffer) => {
          taken += chunk.length;
        });
        source.pipe(sent);
        await arrived;
        // Until the sender stands still: windows and buffers are full, long before the end.
        let before = -1;
        while (taken !== before) {
          before = taken;
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
        assert.ok(taken < MOST_BYTES, `all ${taken} bytes were taken although nobody read them`);
        isEnough = true;
        resume();
        const [response] = await answered;
        assert.equal(await text(response), expectedHash(taken));
      });

    test('a response that breaks off is an error at the client, not a short response', async () => {
      upstream.answer = (request, response) => {
        response.writeHead(200, { 'content-type': 'application/octet-stream' });
        response.write(Buffer.alloc(100_000), () => request.socket.destroy());
      };
      await assert.rejects(edge.ask(host));
      const session = await edge.http2(host);
      const stream = session.request({ ':path': '/' });
      const closed = new Promise((resolve) => stream.once('close', resolve));
      stream.on('error', () => {}).resume();
      await closed;
      assert.notEqual(stream.rstCode, 0);
      session.close();
    });

    test('a request that the client abandons ends at the service', async () => {
      const ended = new Promise<void>((resolve) => {
        upstream.answer = (request) => request.socket.once('close', () => resolve());
      });
      const session = await edge.http2(host);
      const stream = session.request({ ':path': '/' });
      stream.on('error', () => {});
      const seen = new Promise<void>((resolve) => {
        const before = upstream.answer;
        upstream.answer = (request, response) => {
          before?.(request, response);
          resolve();
        };
      });
      await seen;
      stream.close(8);
      await ended;
      session.close();
    });
  });
}

/** WebSockets over HTTP/2 (RFC 8441) across a hop. */
export function http2SocketSuite({ name, edge, host }: FarWay): void {
  test(`a WebSocket over HTTP/2 through ${name}`, async () => {
    const session = await edge.http2(host);
    const socket = await openWebSocketOverHttp2(session, host, '/chat');
    socket.send('hello');
    assert.equal(await Promise.race([socket.message(), socket.closed]), 'hello');
    session.destroy();
  });
}
