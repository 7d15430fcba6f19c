// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { DATA, END_HEADERS, frame, HEADERS, headerBlock } from './support/frames.ts';
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
const PIECE = Buffer.alloc(16_384);

const upstream = await largeUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

/** Many uploads for an upstream that reads none of them, without regard to later settings. */
async function attack(): Promise<RawHttp2> {
  const client = await RawHttp2.open(world, host);
  const block = headerBlock(host, '/never', 'POST');
  const id = (at: number): number => 2 * (at % STREAMS) + 1;
  client.send(...Array.from({ length: STREAMS }, (_, at) => frame(HEADERS, END_HEADERS, id(at), block)));
  await client.flood(SENT / PIECE.length, (at) => frame(DATA, 0, id(at), PIECE));
  return client;
}

suite('uploads over HTTP/2 that their upstream does not read', () => {
  test(`${CONNECTIONS} × ${STREAMS} uploads hold at most ${MOST_UNREAD / MB} MB, and others are served`, async () => {
    const clients = await meanwhileServed(
      world,
      host,
      () => Promise.all(Array.from({ length: CONNECTIONS }, attack)),
      MOST_UNREAD + OTHER_BYTES,
    );
    assert.match(
      await world.metrics(),
      /postern_edge_refused_total\{[^}]*module="edge",reason="upload_not_read"\} [1-9]/,
    );
    for (const client of clients) {
      assert.ok(!client.isClosed, 'only the uploads were ended');
      client.destroy();
    }
    await until(
      async () => (await world.metrics()).includes('\npostern_edge_requests_in_flight 0\n'),
      'all have ended',
    );
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
