// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { after, afterEach, suite, test } from 'node:test';
import { createGunzip } from 'node:zlib';
import { FLAG, FRAME, frame, goawayFrame, headerBlock, resetFrame } from '../../support/http2-frames.ts';
import { type ClientProtocol, type RawPath, RawPaths } from '../../support/raw-paths.ts';
import type { RawPeer } from '../../support/raw-peer.ts';

const world = await RawPaths.open({ after });
const PART = 'a part of the answer ';
const STREAM = 1;
const CHUNK = `${PART.length.toString(16)}\r\n${PART}\r\n`;

interface Cut {
  /** Fields of the response besides its type. */
  readonly fields: readonly (readonly [string, string])[];
  readonly cut: (upstream: RawPeer) => void;
}

const CHUNKED = [['transfer-encoding', 'chunked']] as const;
const LONG = [['content-length', '1000']] as const;

const CUTS: Readonly<Record<ClientProtocol, Readonly<Record<string, Cut>>>> = {
  'http/1.1': {
    'closes its side between chunks': { fields: CHUNKED, cut: (upstream) => upstream.fin() },
    'closes its side inside a chunk': {
      fields: CHUNKED,
      cut: (upstream) => {
        upstream.send('ff\r\nnot all');
        upstream.fin();
      },
    },
    'closes its side before the trailers end': {
      fields: CHUNKED,
      cut: (upstream) => {
        upstream.send('0\r\nx-half: ');
        upstream.fin();
      },
    },
    'resets the connection between chunks': { fields: CHUNKED, cut: (upstream) => upstream.reset() },
    'sends something that is no chunk': { fields: CHUNKED, cut: (upstream) => upstream.send('zz\r\n\r\n') },
    'closes its side before the announced length': { fields: LONG, cut: (upstream) => upstream.fin() },
    'resets the connection before the announced length': { fields: LONG, cut: (upstream) => upstream.reset() },
    'resets the connection of an answer that ends with it': { fields: [], cut: (upstream) => upstream.reset() },
  },
  h2: {
    'resets the stream with NO_ERROR': { fields: [], cut: (upstream) => upstream.send(resetFrame(STREAM, 0)) },
    'resets the stream with CANCEL': { fields: [], cut: (upstream) => upstream.send(resetFrame(STREAM, 8)) },
    'resets the stream with INTERNAL_ERROR': { fields: [], cut: (upstream) => upstream.send(resetFrame(STREAM, 2)) },
    'resets the stream with NO_ERROR before the announced length': {
      fields: LONG,
      cut: (upstream) => upstream.send(resetFrame(STREAM, 0)),
    },
    'ends the stream before the announced length': {
      fields: LONG,
      cut: (upstream) => upstream.send(frame(FRAME.data, FLAG.endStream, STREAM)),
    },
    'says GOAWAY and closes its side': {
      fields: [],
      cut: (upstream) => {
        upstream.send(goawayFrame(STREAM, 0));
        upstream.fin();
      },
    },
    'says GOAWAY with an error': { fields: [], cut: (upstream) => upstream.send(goawayFrame(0, 2)) },
    'closes its side': { fields: [], cut: (upstream) => upstream.fin() },
    'resets the connection': { fields: [], cut: (upstream) => upstream.reset() },
  },
};

interface Begun {
  readonly client: RawPeer;
  readonly upstream: RawPeer;
}

/** Sends a request, and waits until a part of the response has reached the client, compressed if it asked for that. */
async function begin(path: RawPath, protocol: ClientProtocol, { fields }: Cut, coding: string): Promise<Begun> {
  const arriving = path.upstream.next();
  const client = await world.client(path, protocol);
  if (protocol === 'http/1.1') {
    client.send(`GET /file HTTP/1.1\r\nhost: ${path.host}\r\naccept-encoding: ${coding}\r\n\r\n`);
  } else {
    const head = headerBlock([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/file'],
      [':authority', path.host],
      ['accept-encoding', coding],
    ]);
    client.send(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, STREAM, head));
  }
  const upstream = await arriving;
  await upstream.until(hasRequest, 'the request is there');
  const answer = [['content-type', 'text/event-stream'], ...fields] as const;
  if (upstream.http2 === null) {
    const lines = answer.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const isChunked = fields === CHUNKED;
    upstream.send(`HTTP/1.1 200 OK\r\n${lines}\r\n${isChunked ? CHUNK : PART}`);
  } else {
    upstream.send(frame(FRAME.headers, FLAG.endHeaders, STREAM, headerBlock([[':status', '200'], ...answer])));
    upstream.send(frame(FRAME.data, 0, STREAM, PART));
  }
  await client.until((peer) => bodyOf(peer).length > 0, 'a part of the answer is there');
  return { client, upstream };
}

function hasRequest({ http2, received }: RawPeer): boolean {
  return http2 === null ? received.endsWith('\r\n\r\n') : http2.hasEnd(STREAM);
}

function bodyOf({ http2, received }: RawPeer): Buffer {
  if (http2 !== null) return http2.data(STREAM);
  const at = received.indexOf('\r\n\r\n');
  return at === -1 ? Buffer.alloc(0) : Buffer.from(received.slice(at + 4), 'latin1');
}

for (const protocol of ['http/1.1', 'h2'] as const) {
  for (const path of world.paths) {
    for (const coding of ['identity', 'gzip']) {
      suite(`a response (${coding}) over ${protocol} through ${path.name}`, () => {
        for (const [name, cut] of Object.entries(CUTS[path.upstream.protocol])) {
          test(`reaches the client as truncated when the upstream ${name}`, async () => {
            const { client, upstream } = await begin(path, protocol, cut, coding);
            cut.cut(upstream);
            const { http2 } = client;
            if (http2 === null) {
              await client.until(({ hasFin, isClosed }) => hasFin || isClosed, 'the connection is closed');
              assert.match(client.received, /^HTTP\/1\.1 200 /);
              assert.match(client.received, /\r\n(?:transfer-encoding: chunked|content-length: 1000)\r\n/i);
              assert.doesNotMatch(client.received, /\r\n0\r\n/);
            } else {
              await client.until(() => http2.resetCode(STREAM) !== null, 'the stream is reset');
              assert.notEqual(http2.resetCode(STREAM), 0);
              assert.equal(http2.hasEnd(STREAM), false);
            }
          });
        }
      });
    }
  }
}

afterEach(() => world.disconnect());

suite('responses that end otherwise', () => {
  const [http1, http2] = world.paths as [RawPath, RawPath];

  test('a response without framing is complete when its connection is closed cleanly', async () => {
    const { client, upstream } = await begin(http1, 'http/1.1', { fields: [], cut: () => {} }, 'identity');
    upstream.fin();
    await client.until(({ received }) => received.endsWith(`${CHUNK}0\r\n\r\n`), 'the last chunk is there');
  });

  test('an ended response is complete when its stream is reset afterwards', async () => {
    for (const code of [0, 8]) {
      const { client, upstream } = await begin(http2, 'h2', { fields: [], cut: () => {} }, 'identity');
      upstream.send(frame(FRAME.data, FLAG.endStream, STREAM, 'end'), resetFrame(STREAM, code));
      await client.until(() => client.http2?.hasEnd(STREAM) === true, 'the end is there');
      assert.equal(client.http2?.data(STREAM).toString(), `${PART}end`);
      world.disconnect();
    }
  });

  test('an HTTP/1.0 client gets no close_notify after a truncated response', async () => {
    const arriving = http1.upstream.next();
    const client = await world.client(http1, 'http/1.1');
    client.send(`GET /file HTTP/1.0\r\nhost: ${http1.host}\r\n\r\n`);
    const upstream = await arriving;
    await upstream.until(hasRequest, 'the request is there');
    upstream.send(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${CHUNK}`);
    await client.until(({ received }) => received.includes(PART), 'the part is there');
    upstream.fin();
    await client.until(({ hasFin, isClosed }) => hasFin || isClosed, 'the connection is closed');
    assert.doesNotMatch(client.received, /chunked/);
  });

  test('a truncated gzip response cannot be decompressed to its end', async () => {
    const cut: Cut = { fields: CHUNKED, cut: (upstream) => upstream.fin() };
    const { client, upstream } = await begin(http1, 'h2', cut, 'gzip');
    cut.cut(upstream);
    await client.until(() => client.http2?.resetCode(STREAM) === 2, 'the stream is reset');
    const gunzip = createGunzip();
    gunzip.resume().end(client.http2?.data(STREAM));
    await assert.rejects(new Promise((resolve, reject) => gunzip.once('end', resolve).once('error', reject)), {
      code: 'Z_BUF_ERROR',
    });
  });
});
