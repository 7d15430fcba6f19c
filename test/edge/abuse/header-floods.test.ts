// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import {
  CONTINUATION,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  headerBlock,
  indexedLiteral,
  literal,
  NEWEST_ENTRY,
  NOTHING,
  RST_STREAM,
} from './support/frames.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { RawHttp2 } from './support/raw-http2.ts';

const FLOOD = 100_000;
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));
const block = headerBlock(host, '/flooded');

function reachedUpstream(): boolean {
  return upstream.seen.some(({ url }) => url === '/flooded');
}

suite('endless heads (CVE-2024-27316)', () => {
  for (const [name, part] of [
    ['CONTINUATION frames full of headers', (index: number) => literal(`x-${index}`, 'y'.repeat(1000))],
    ['CONTINUATION frames with nothing in them', () => NOTHING],
    ['CONTINUATION frames with one byte each', () => Buffer.from([0x82])],
  ] as const) {
    test(`${name} end the connection`, async () => {
      const client = await RawHttp2.open(world, host);
      await meanwhileServed(world, host, async () => {
        client.send(frame(HEADERS, END_STREAM, 1, block));
        await client.flood(FLOOD, (index) => frame(CONTINUATION, 0, 1, part(index)));
        // The edge ends it. A worker may do so after all of them were sent.
        await client.closed;
      });
      assert.ok(!reachedUpstream());
    });
  }
});

suite('heads that expand', () => {
  test('one byte of HPACK for 4 KB, thousands of times on thousands of streams', async () => {
    const client = await RawHttp2.open(world, host);
    const streams = 500;
    client.send(
      frame(
        HEADERS,
        END_STREAM | END_HEADERS,
        1,
        Buffer.concat([headerBlock(host, '/first'), indexedLiteral('x-big', 'y'.repeat(4000))]),
      ),
    );
    await client.until(() => client.isAnswered(1));
    const bomb = Buffer.concat([block, Buffer.alloc(8000, NEWEST_ENTRY)]);
    await meanwhileServed(world, host, async () => {
      await client.flood(streams, (index) => frame(HEADERS, END_STREAM | END_HEADERS, 2 * index + 3, bomb));
      await client.until(() => client.of(RST_STREAM).length === streams);
    });
    // Each was rejected individually, or the connection as a whole: none was accepted.
    assert.equal(client.of(HEADERS).length, 1);
    assert.ok(!reachedUpstream());
    client.destroy();
  });

  test('rejects more bytes or lines than the settings allow, and the connection continues', async () => {
    const client = await RawHttp2.open(world, host);
    const filler = literal('x-filler', 'y'.repeat(8000));
    const parts = [filler, filler, filler, filler, filler];
    client.send(
      frame(HEADERS, END_STREAM, 1, block),
      ...parts.map((part, at) => frame(CONTINUATION, at === parts.length - 1 ? END_HEADERS : 0, 1, part)),
    );
    await client.until(() => client.isAnswered(1));
    const lines = Array.from({ length: 101 }, (_, at) => literal(`x-${at}`, 'y'));
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 3, Buffer.concat([block, ...lines])));
    await client.until(() => client.isAnswered(3));
    // Like over HTTP/1.1, with a response: 431.
    assert.deepEqual(client.of(RST_STREAM), []);
    assert.deepEqual(
      client.of(HEADERS).map(({ stream }) => stream),
      [1, 3],
    );
    assert.ok(!reachedUpstream());
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 5, headerBlock(host, '/after')));
    await client.until(() => client.isAnswered(5));
    assert.equal(client.of(HEADERS).length, 3);
    client.destroy();
  });
});
