// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { after, afterEach, suite, test } from 'node:test';
import { FLAG, FRAME, frame, goawayFrame, headerBlock, resetFrame } from '../../support/http2-frames.ts';
import { type ClientProtocol, type RawPath, RawPaths } from '../../support/raw-paths.ts';
import type { RawPeer } from '../../support/raw-peer.ts';

const world = await RawPaths.open({ after });
const PART = 'a part of the upload';
const STREAM = 1;
const BAD_CHUNK = '400 ERR_POSTERN_BAD_HTTP edge:bad_http';

/** All ways in which a client can abandon an upload. */
const CUTS: Readonly<Record<ClientProtocol, Readonly<Record<string, (client: RawPeer) => void>>>> = {
  'http/1.1': {
    'closes its side': (client) => client.fin(),
    'closes its side inside a chunk': (client) => {
      client.send('ff\r\nnot all');
      client.fin();
    },
    'closes its side before the trailers end': (client) => {
      client.send('0\r\nx-half: ');
      client.fin();
    },
    'closes the connection': (client) => client.destroy(),
    'resets the connection': (client) => client.reset(),
    'sends something that is no chunk': (client) => client.send('zz\r\n\r\n'),
  },
  h2: {
    'resets the stream with NO_ERROR': (client) => client.send(resetFrame(STREAM, 0)),
    'resets the stream with CANCEL': (client) => client.send(resetFrame(STREAM, 8)),
    'resets the stream with INTERNAL_ERROR': (client) => client.send(resetFrame(STREAM, 2)),
    'sends the last part and NO_ERROR at once': (client) =>
      client.send(frame(FRAME.data, 0, STREAM, 'more'), resetFrame(STREAM, 0)),
    'says GOAWAY and closes its side': (client) => {
      client.send(goawayFrame(0, 0));
      client.fin();
    },
    'closes its side': (client) => client.fin(),
    'closes the connection': (client) => client.destroy(),
    'resets the connection': (client) => client.reset(),
  },
};

/** Starts an upload, of unknown length by default, and waits until a part of it has reached the upstream. */
async function begin(
  path: RawPath,
  protocol: ClientProtocol,
  length: number | null = null,
  target = '/file',
): Promise<{ client: RawPeer; upstream: RawPeer }> {
  const arriving = path.upstream.next();
  const client = await world.client(path, protocol);
  if (protocol === 'http/1.1') {
    const framing = length === null ? 'transfer-encoding: chunked' : `content-length: ${length}`;
    client.send(`PUT ${target} HTTP/1.1\r\nhost: ${path.host}\r\n${framing}\r\n\r\n`);
    client.send(length === null ? `${PART.length.toString(16)}\r\n${PART}\r\n` : PART);
  } else {
    const fields = [
      [':method', 'PUT'],
      [':scheme', 'https'],
      [':path', target],
      [':authority', path.host],
      ...(length === null ? [] : [['content-length', String(length)] as const]),
    ] as const;
    client.send(frame(FRAME.headers, FLAG.endHeaders, STREAM, headerBlock(fields)), frame(FRAME.data, 0, STREAM, PART));
  }
  const upstream = await arriving;
  await upstream.until((peer) => partOf(peer).includes(PART), 'the part is there');
  return { client, upstream };
}

function partOf({ http2, received }: RawPeer): string {
  return http2 === null ? received : http2.data(STREAM).toString();
}

async function assertCut(upstream: RawPeer): Promise<void> {
  const { http2 } = upstream;
  if (http2 === null) {
    await upstream.until(({ hasFin, isClosed }) => hasFin || isClosed, 'the connection is closed');
    assert.doesNotMatch(upstream.received, /\r\n0\r\n/);
  } else {
    await upstream.until(() => http2.resetCode(STREAM) !== null || http2.hasEnd(STREAM), 'the stream is over');
    assert.equal(http2.hasEnd(STREAM), false);
    assert.notEqual(http2.resetCode(STREAM), 0);
  }
}

afterEach(() => world.disconnect());

for (const protocol of ['http/1.1', 'h2'] as const) {
  for (const path of world.paths) {
    suite(`an upload over ${protocol} through ${path.name}`, () => {
      for (const [name, cut] of Object.entries(CUTS[protocol])) {
        test(`reaches the upstream as truncated when the client ${name}`, async () => {
          const { client, upstream } = await begin(path, protocol);
          cut(client);
          await assertCut(upstream);
        });
      }

      test('reaches the upstream as truncated when a part of its length is missing', async () => {
        const { client, upstream } = await begin(path, protocol, 1000);
        client.fin();
        await assertCut(upstream);
      });

      test('reaches the upstream as truncated when it has responded early', async () => {
        const { upstream } = await begin(path, protocol, 1000);
        if (upstream.http2 === null) upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
        else upstream.send(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, STREAM, Buffer.from([0x89])));
        await assertCut(upstream);
      });

      test('reaches the upstream as complete when the client ends it', async () => {
        const { client, upstream } = await begin(path, protocol, null, '/whole');
        client.send(protocol === 'h2' ? frame(FRAME.data, FLAG.endStream, STREAM) : '0\r\n\r\n');
        await upstream.until(
          ({ http2, received }) => (http2 === null ? received.endsWith('\r\n0\r\n\r\n') : http2.hasEnd(STREAM)),
          'the end is there',
        );
      });
    });
  }
}

suite('a truncated upload', () => {
  test('is the fault of its client in logs, metrics and the request history', async () => {
    const { edge } = world.world;
    const logged = edge.world.logLines.map((line) => JSON.parse(line));
    // The upstream of a complete upload is disconnected before it answers.
    const whole = new Set(logged.filter(({ path }) => path === '/whole').map(({ request_id }) => request_id));
    const failures = logged.filter(({ msg, request_id }) => msg === 'an upstream failed' && !whole.has(request_id));
    assert.deepEqual(failures, []);
    const outcomes = new Set(
      logged
        .filter(({ path, status }) => path === '/file' && status !== 204)
        .map(({ status, error_code, refused_by }) => `${status} ${error_code} ${refused_by}`),
    );
    // The last one is a client that can still read: it sent something that is no chunk.
    const clients = new Set(['0 undefined client:gone', '400 ERR_POSTERN_BAD_HTTP edge:request_body', BAD_CHUNK]);
    assert.deepEqual(
      [...outcomes].filter((outcome) => !clients.has(outcome)),
      [],
    );
    assert.ok(outcomes.has('0 undefined client:gone'));
    assert.doesNotMatch(await edge.metrics(), /postern_edge_upstream_failures_total\{[^}]*reason="request_body"/);
    const { requests } = await edge.api('GET', '/requests?limit=100');
    const cut = requests.filter((one: { path: string }) => one.path === '/file');
    assert.ok(cut.length > 0);
    for (const { error_code } of cut) assert.notEqual(error_code, 'ERR_POSTERN_UPSTREAM_BROKEN');
  });
});
