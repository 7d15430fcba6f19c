import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { DATA, END_HEADERS, END_STREAM, frame, HEADERS, headerBlock } from './support/frames.ts';
import { RawHttp2 } from './support/raw-http2.ts';

/** Four times what may come at once. */
const PIECES = 20_000;
/**
 * Without a limit they take a fraction of this. With it, 15,000 wait for 5,000 per second, except those of one read.
 */
const LEAST_MS = 1600;
const ENHANCE_YOUR_CALM = 11;

const upstream = await recordingUpstream({ after });
upstream.answer = (request, response) => void answerWithCounts(request, response);
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

async function answerWithCounts(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let [bytes, chunks] = [0, 0];
  try {
    for await (const chunk of request) {
      bytes += (chunk as Buffer).length;
      chunks += 1;
    }
    response.end(`${bytes} bytes, ${chunks} chunks`);
  } catch {
    // The edge has ended it.
  }
}

const letterOf = (at: number): Buffer => Buffer.from(String.fromCharCode(97 + (at % 26)));

suite('uploads in pieces of one byte', () => {
  test('frames of HTTP/2 are held back, and arrive complete', async () => {
    const client = await RawHttp2.open(world, host);
    const frames = Array.from({ length: PIECES }, (_, at) => frame(DATA, 0, 1, letterOf(at)));
    const startedMs = performance.now();
    client.send(frame(HEADERS, END_HEADERS, 1, headerBlock(host, '/', 'POST')), ...frames, frame(DATA, END_STREAM, 1));
    await client.until(() => client.of(DATA).length > 0);
    const [body] = client.of(DATA);
    assert.match(String(body?.payload), new RegExp(`^${PIECES} bytes`));
    assert.ok(performance.now() - startedMs > LEAST_MS, `${performance.now() - startedMs} ms`);
    client.destroy();
  });

  test('chunks of HTTP/1.1 are held back, and arrive complete, in few writes', async () => {
    const chunks = Array.from({ length: PIECES }, (_, at) => `1\r\n${letterOf(at).toString()}\r\n`).join('');
    const socket = await world.connect(host, { localAddress: '127.0.0.3' } as object);
    const startedMs = performance.now();
    const { bytes } = await rawExchange(
      socket,
      `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
      { timeoutMs: 30_000, isEnough: (soFar) => soFar.includes(' chunks') },
    );
    const [, total, count] = /(\d+) bytes, (\d+) chunks/.exec(bytes) ?? [];
    assert.equal(Number(total), PIECES);
    assert.ok(Number(count) < PIECES / 100, `${count} chunks`);
    assert.ok(performance.now() - startedMs > LEAST_MS, `${performance.now() - startedMs} ms`);
  });

  test('connections of an address that sends many times more are ended, and others are served', async () => {
    const clients = await Promise.all(Array.from({ length: 40 }, () => RawHttp2.open(world, host)));
    for (const client of clients) client.send(frame(HEADERS, END_HEADERS, 1, headerBlock(host, '/', 'POST')));
    const burst = Buffer.concat(Array.from({ length: 8_000 }, (_, at) => frame(DATA, 0, 1, letterOf(at))));
    for (const client of clients) client.send(burst);
    await Promise.race(clients.map(({ closed }) => closed));
    assert.equal(clients.find(({ isClosed }) => isClosed)?.goawayCode, ENHANCE_YOUR_CALM);
    assert.equal(await world.status(host, '/', { localAddress: '127.0.0.2' }), 200);
    assert.match(await world.metrics(), /postern_edge_http2_errors_total\{reason="ERR_HTTP2_SMALL_FRAMES"\} [1-9]/);
    for (const client of clients) client.destroy();
  });
});

test('many small messages of a stream pass without delay', async () => {
  const session = await world.http2(host, { localAddress: '127.0.0.4' } as object);
  const stream: ClientHttp2Stream = session.request({ ':method': 'POST', ':path': '/' });
  const answered = once(stream, 'data');
  for (let at = 0; at < 4_000; at += 1) stream.write(Buffer.alloc(100, 97));
  stream.end();
  assert.match(String(await answered), /^400000 bytes/);
});
