// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  headerBlock,
  literal,
  RST_STREAM,
  reset,
} from './support/frames.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { RawHttp2 } from './support/raw-http2.ts';

const FLOOD = 20_000;
const BATCH = 50;
const RESET_BURST = 1000;
const RESETS_PER_SECOND = 33;

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));
let asked = 0;
let mostAtOnce = 0;
let startedAtMs = 0;
upstream.answer = (request, response) => {
  if (request.url === '/honest') {
    response.end('ok');
    return;
  }
  // Never answered: only the client's disconnect ends it.
  asked += 1;
  mostAtOnce = Math.max(mostAtOnce, upstream.sockets.size);
};

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isSo()); tries += 1) {
    assert.ok(tries < 200, 'the condition did not hold within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function start(): void {
  asked = 0;
  mostAtOnce = 0;
  startedAtMs = performance.now();
}

/** The edge's burst, its refill in the meantime, and requests in flight when it was reached. */
function mostRequests(): number {
  return RESET_BURST + (RESETS_PER_SECOND * (performance.now() - startedAtMs)) / 1000 + 2 * BATCH;
}

async function assertAllLetGo(): Promise<void> {
  // Connections that served others in the meantime are kept.
  await until(() => Promise.resolve(upstream.sockets.size <= 2));
  await until(async () => (await world.metrics()).includes('\npostern_edge_requests_in_flight 0\n'));
}

suite('requests cancelled as fast as they come', () => {
  test('in the same packet (CVE-2023-44487)', async () => {
    start();
    const client = await RawHttp2.open(world, host);
    const block = headerBlock(host);
    await meanwhileServed(world, host, async () => {
      await client.flood(FLOOD, (index) => {
        const stream = 2 * index + 1;
        return Buffer.concat([frame(HEADERS, END_HEADERS | END_STREAM, stream, block), reset(stream)]);
      });
      // The edge ends it. A worker may do so after all of them were sent.
      await client.closed;
    });
    assert.ok(asked <= mostRequests(), `${asked} requests reached the upstream`);
    await assertAllLetGo();
  });

  test('after they reached the upstream', async () => {
    start();
    const client = await RawHttp2.open(world, host);
    const block = headerBlock(host);
    await meanwhileServed(world, host, async () => {
      for (let next = 0; !client.isClosed && next < FLOOD; next += BATCH) {
        const streams = Array.from({ length: BATCH }, (_, at) => 2 * (next + at) + 1);
        client.send(...streams.map((stream) => frame(HEADERS, END_HEADERS | END_STREAM, stream, block)));
        await client.until(() => asked >= next + BATCH);
        client.send(...streams.map((stream) => reset(stream)));
      }
    });
    assert.ok(asked >= RESET_BURST, `ended after ${asked} already`);
    assert.ok(asked <= mostRequests(), `${asked} requests reached the upstream`);
    assert.ok(mostAtOnce <= 2 * BATCH + 10, `${mostAtOnce} at once`);
    await assertAllLetGo();
    assert.match(await world.metrics(), /postern_edge_http2_errors_total\{reason="ERR_HTTP2_[A-Z_]+"\} [1-9]/);
  });

  test("reset by the server at the client's provocation (CVE-2025-8671)", async () => {
    start();
    const client = await RawHttp2.open(world, host);
    // RFC 9113 §8.1.1: a body longer than announced is a stream error, and the server sends the RST_STREAM.
    const block = Buffer.concat([headerBlock(host, '/', 'POST'), literal('content-length', '1')]);
    await meanwhileServed(world, host, async () => {
      await client.flood(FLOOD, (index) => {
        const stream = 2 * index + 1;
        return Buffer.concat([
          frame(HEADERS, END_HEADERS, stream, block),
          frame(DATA, END_STREAM, stream, Buffer.from('ab')),
        ]);
      });
      await client.closed;
    });
    assert.ok(client.of(RST_STREAM).length <= mostRequests());
    assert.ok(asked <= mostRequests(), `${asked} requests reached the upstream`);
    await assertAllLetGo();
  });
});
