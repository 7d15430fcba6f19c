import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { corpus } from './attack-corpus.ts';

interface Http2Case {
  readonly name: string;
  readonly source: string;
  /** Header list in order; `{host}` is the site's. Headers of a well-formed request are not added. */
  readonly headers: readonly (readonly [string, string])[];
  /** Bytes of a DATA frame, if any. */
  readonly body?: string;
  /** A status, or `reset`: the stream or connection ends without a response. */
  readonly outcome: number | 'reset';
  /** Text that the upstream must have received, if it is contacted at all. */
  readonly seen?: readonly string[];
  readonly absent?: readonly string[];
}

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

suite('HTTP/2 that would change its meaning over HTTP/1.1', () => {
  for (const { name, source, headers, body, outcome, seen, absent = [] } of corpus<Http2Case[]>('http2')) {
    test(`${name} (${source})`, async () => {
      upstream.forget();
      const socket = await world.connect(host, { ALPNProtocols: ['h2'] });
      const list = headers.map(([key, value]) => [key, value.replaceAll('{host}', host)] as const);
      const got = await askRaw(socket, list, body);
      socket.destroy();
      assert.equal(got, outcome);
      await world.ask(host, '/barrier');
      const urls = upstream.seen.map(({ method, url }) => `${method} ${url}`);
      if (seen === undefined) assert.deepEqual(urls, ['GET /barrier']);
      for (const text of seen ?? []) assert.ok(upstream.bytes.includes(text), upstream.bytes);
      for (const text of absent) assert.ok(!upstream.bytes.includes(text), upstream.bytes);
    });
  }
});

/** Frames by hand: the runtime's client would refuse to send most of this. */
function askRaw(
  socket: TLSSocket,
  headers: readonly (readonly [string, string])[],
  body: string | undefined,
): Promise<number | 'reset'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('reset'), 3000);
    const done = (outcome: number | 'reset'): void => {
      clearTimeout(timer);
      resolve(outcome);
    };
    let received = Buffer.alloc(0);
    socket.once('close', () => done('reset'));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 9 && received.length >= 9 + received.readUIntBE(0, 3)) {
        const end = 9 + received.readUIntBE(0, 3);
        const type = received[3];
        // HEADERS, RST_STREAM, GOAWAY of RFC 9113 §6.
        if (type === 1) done(statusOf(received.subarray(9, end)));
        if (type === 3 || type === 7) done('reset');
        received = received.subarray(end);
      }
    });
    const isEnd = body === undefined;
    socket.write(
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        frame(4, 0, 0, Buffer.alloc(0)),
        frame(1, isEnd ? 0x5 : 0x4, 1, Buffer.concat(headers.map(literal))),
        ...(isEnd ? [] : [frame(0, 0x1, 1, Buffer.from(body, 'latin1'))]),
      ]),
    );
  });
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** RFC 7541 §6.2.2: a literal without indexing and without Huffman coding. */
function literal([name, value]: readonly [string, string]): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  assert.ok(bytes.length < 127);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** `:status` comes first: an entry of the static table (RFC 7541 appendix A), or a literal with its name from there. */
function statusOf(block: Buffer): number {
  let at = 0;
  // Updates of the table's size.
  while (((block[at] as number) & 0xe0) === 0x20) at += 1;
  const first = block[at] as number;
  if (first >= 0x88 && first <= 0x8e) return [200, 204, 206, 304, 400, 404, 500][first - 0x88] as number;
  const length = block[at + 1] as number;
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f));
  return length < 0x80 ? Number(value.toString()) : huffmanDigits(value);
}

/** RFC 7541 appendix B: digits have codes of five ("0" to "2") or six bits. */
function huffmanDigits(bytes: Buffer): number {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  for (let at = 0; digits.length < 3; ) {
    const short = Number.parseInt(bits.slice(at, at + 5), 2);
    if (short < 3) digits += String(short);
    else digits += String(Number.parseInt(bits.slice(at, at + 6), 2) - 0b011001 + 3);
    at += short < 3 ? 5 : 6;
  }
  return Number(digits);
}
