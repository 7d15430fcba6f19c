// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EdgeWorld } from '../../support/edge-world.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { DATA, END_HEADERS, frame, HEADERS, headerBlock, PING } from './support/frames.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { largeUpstream } from './support/large-upstream.ts';
import { RawHttp2 } from './support/raw-http2.ts';
import { until } from './support/until.ts';

const MB = 1 << 20;
const MAX_UNREAD_PER_CONNECTION = 96 * MB;
const MAX_UNREAD_IN_TOTAL = 256 * MB;
/** Few enough to send more on each than the buffers of its connection to the upstream hold. */
const STREAMS = 12;
const CONNECTIONS = isLong ? 6 : 1;
/** Sent on each connection. */
const SENT = 2 * MAX_UNREAD_PER_CONNECTION;
const MOST_UNREAD = Math.min(CONNECTIONS * MAX_UNREAD_PER_CONNECTION, MAX_UNREAD_IN_TOTAL);
/** Garbage, and the buffers of both ends, which are in this process. */
const OTHER_BYTES = 160 * MB;
/**
 * What is not garbage: pieces that share memory with others, up to 4 MB between two measurements, and buffers of 72
 * connections.
 */
const OTHER_KEPT_BYTES = MOST_UNREAD / 8 + 32 * MB;
const PIECE = Buffer.alloc(16_384);
/** RFC 9113 §4.1: frames of unknown types are ignored. */
const UNKNOWN_TYPE = 0xfa;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const upstream = await largeUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

/** Many uploads for an upstream that reads none of them, without regard to later settings. */
async function attack(t: TestContext): Promise<RawHttp2> {
  const client = await RawHttp2.open(world, host);
  t.after(() => ended(client));
  const block = headerBlock(host, '/never', 'POST');
  const id = (at: number): number => 2 * (at % STREAMS) + 1;
  client.send(...Array.from({ length: STREAMS }, (_, at) => frame(HEADERS, END_HEADERS, id(at), block)));
  await client.flood(SENT / PIECE.length, (at) => frame(DATA, 0, id(at), PIECE));
  return client;
}

/** What it holds would count in later tests. */
async function ended(...clients: readonly RawHttp2[]): Promise<void> {
  for (const client of clients) client.destroy();
  await until(async () => (await world.metrics()).includes('\npostern_edge_requests_in_flight 0\n'), 'all have ended');
}

/**
 * V8 frees the blocks of a collection in another thread, which a busy machine delays. The next collection waits for it.
 */
function keptBytes(): number {
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}

suite('uploads over HTTP/2 that their upstream does not read', () => {
  test(`${CONNECTIONS} × ${STREAMS} uploads hold at most ${MOST_UNREAD / MB} MB, and others are served`, async (t) => {
    const before = keptBytes();
    const clients = await meanwhileServed(
      world,
      host,
      () => Promise.all(Array.from({ length: CONNECTIONS }, () => attack(t))),
      MOST_UNREAD + OTHER_BYTES,
    );
    const kept = keptBytes() - before;
    assert.ok(kept < MOST_UNREAD + OTHER_KEPT_BYTES, `${Math.round(kept / MB)} MB are kept`);
    assert.match(
      await world.metrics(),
      /postern_edge_refused_total\{[^}]*module="edge",reason="upload_not_read"\} [1-9]/,
    );
    for (const client of clients) assert.ok(!client.isClosed, 'only the uploads were ended');
    await ended(...clients);
  });

  test('small pieces keep no more of what arrived with them', async (t) => {
    const client = await RawHttp2.open(world, host);
    t.after(() => ended(client));
    client.send(frame(HEADERS, END_HEADERS, 1, headerBlock(host, '/never', 'POST')));
    // More than the buffers of the connection to the upstream hold.
    await client.flood(1024, () => frame(DATA, 0, 1, PIECE));
    const before = keptBytes();
    const pieceAndMore = Buffer.concat([frame(DATA, 0, 1, Buffer.alloc(1)), frame(UNKNOWN_TYPE, 0, 0, PIECE)]);
    await client.flood(4096, () => pieceAndMore);
    client.send(frame(PING, 0, 0, Buffer.alloc(8)));
    await client.until(() => client.of(PING).length > 0);
    const kept = keptBytes() - before;
    assert.ok(kept < 16 * MB, `${Math.round(kept / MB)} MB are kept for 4 KB`);
    assert.ok(!client.isAnswered(1));
  });

  test('a stalled upload leaves its connection to other uploads and downloads', async () => {
    const session = await world.http2(host, { maxSessionMemory: 1000 });
    const stalled = session.request({ ':method': 'POST', ':path': '/never' }, { endStream: false });
    stalled.on('error', () => {});
    stalled.write(Buffer.alloc(64 * MB));
    for (const path of ['/', `/large/${4 * MB}`]) {
      const other = session.request({ ':method': 'POST', ':path': path });
      other.end(Buffer.alloc(4 * MB));
      const [headers] = await once(other, 'response');
      assert.equal(headers[':status'], 200);
      await once(other.resume(), 'close');
    }
    assert.ok(!stalled.closed);
    session.destroy();
  });
});
