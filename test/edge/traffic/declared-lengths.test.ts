// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer, createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { hasStreamEnd, watchStreamEnd } from '../../../src/kit/http2/stream-end.ts';
import { FLAG, FRAME, frame, headerBlock, resetFrame } from '../../support/http2-frames.ts';
import { RawPeer } from '../../support/raw-peer.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { recordingUpstream } from './recording-upstream.ts';

/** Complete requests that a service has received: path and body. */
type Seen = () => readonly string[];

async function http2Recorder(
  tls: { readonly certificatePem: string; readonly keyPem: string } | null,
): Promise<{ readonly port: number; readonly seen: Seen }> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server: Http2Server =
    tls === null
      ? createServer()
      : (createSecureServer({ cert: tls.certificatePem, key: tls.keyPem }) as unknown as Http2Server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
  });
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    watchStreamEnd(stream);
    let body = '';
    stream.on('error', () => {});
    stream.setEncoding('latin1').on('data', (text: string) => {
      body += text;
    });
    stream.on('end', () => {
      if (!hasStreamEnd(stream) && !stream.endAfterHeaders) return;
      seen.push(`${headers[':path']} ${body}`);
      if (!stream.destroyed) stream.respond({ ':status': 200 }, { endStream: true });
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, seen: () => seen };
}

const authority = await UpstreamAuthority.trusted({ after });
const [one, far] = [await recordingUpstream({ after }), await recordingUpstream({ after })];
const [two, farTwo] = [await http2Recorder(await authority.issue()), await http2Recorder(null)];
const world = await TunnelWorld.open({ after });
const { edge } = world;
const agent = await world.agent([
  { proto: 'https', addr: far.address },
  { proto: 'https', addr: `h2c://127.0.0.1:${farTwo.port}` },
]);
const [farHost = '', farTwoHost = ''] = agent.tunnels.map(({ publicUrl: url }) => new URL(url ?? '').hostname);
const staticHost = async (address: string, hasTls: boolean): Promise<string> =>
  (await edge.site(await edge.staticBackend(address, hasTls))).host;
const seenBy =
  (upstream: typeof one): Seen =>
  () =>
    upstream.seen.map(({ url, body }) => `${url} ${body}`);
const WAYS: readonly { readonly name: string; readonly host: string; readonly seen: Seen }[] = [
  { name: 'an HTTP/1.1 upstream', host: await staticHost(one.address, false), seen: seenBy(one) },
  { name: 'an HTTP/2 upstream', host: await staticHost(`localhost:${two.port}`, true), seen: two.seen },
  { name: 'a tunnel to HTTP/1.1', host: farHost, seen: seenBy(far) },
  { name: 'a tunnel to HTTP/2', host: farTwoHost, seen: farTwo.seen },
];

const data = (text: string, flags = 0): Buffer => frame(FRAME.data, flags, 1, text);
const trailers = frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, headerBlock([['x-sum', '1']]));

interface Case {
  readonly name: string;
  readonly length: number;
  readonly endsAtOnce?: boolean;
  readonly frames: readonly Buffer[];
  /** The body that arrives; null: nothing may arrive as a complete request. */
  readonly arrives: string | null;
}

const CASES: readonly Case[] = [
  { name: '0 and one byte', length: 0, frames: [data('x', FLAG.endStream)], arrives: null },
  { name: '0, an empty frame and one byte', length: 0, frames: [data(''), data('x', FLAG.endStream)], arrives: null },
  { name: '0 and a reset', length: 0, frames: [resetFrame(1, 8)], arrives: null },
  { name: '0 and a reset without an error', length: 0, frames: [resetFrame(1, 0)], arrives: null },
  { name: '5 and six bytes', length: 5, frames: [data('hello'), data('x', FLAG.endStream)], arrives: null },
  { name: '5 and six bytes in one frame', length: 5, frames: [data('hello!', FLAG.endStream)], arrives: null },
  { name: '5 and three bytes', length: 5, frames: [data('hel', FLAG.endStream)], arrives: null },
  { name: '5, all bytes and a reset', length: 5, frames: [data('hello'), resetFrame(1, 8)], arrives: null },
  { name: '5, all bytes, reset, no error', length: 5, frames: [data('hello'), resetFrame(1, 0)], arrives: null },
  { name: '5 and only trailers', length: 5, frames: [trailers], arrives: null },
  { name: '5 and no body', length: 5, endsAtOnce: true, frames: [], arrives: null },
  { name: '0 and an empty frame', length: 0, frames: [data('', FLAG.endStream)], arrives: '' },
  { name: '0 and trailers', length: 0, frames: [trailers], arrives: '' },
  { name: '5 and five bytes', length: 5, frames: [data('hello', FLAG.endStream)], arrives: 'hello' },
  {
    name: '5, five bytes and a late end',
    length: 5,
    frames: [data('hello'), data('', FLAG.endStream)],
    arrives: 'hello',
  },
  { name: '5, five bytes and trailers', length: 5, frames: [data('hello'), trailers], arrives: 'hello' },
];

async function clientOf(host: string): Promise<RawPeer> {
  const transport = connect({ host: edge.address, port: edge.port, noDelay: true, allowHalfOpen: true });
  const socket = connectTls({ socket: transport, servername: host, ca: [...edge.ca], ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  return new RawPeer(socket, transport, 'client');
}

let count = 0;

for (const { name, host, seen } of WAYS) {
  suite(`Content-Length over HTTP/2, through ${name}:`, () => {
    for (const { name: what, length, endsAtOnce = false, frames, arrives } of CASES) {
      test(`${what}: ${arrives === null ? 'never arrives as complete' : 'arrives'}`, async () => {
        count += 1;
        const paths: string[] = [];
        for (const pauseMs of [0, 30]) {
          const path = `/${count}-${pauseMs}`;
          paths.push(path);
          const client = await clientOf(host);
          const head = headerBlock([
            [':method', 'POST'],
            [':scheme', 'https'],
            [':authority', host],
            [':path', path],
            ['content-length', String(length)],
          ]);
          const flags = FLAG.endHeaders | (endsAtOnce ? FLAG.endStream : 0);
          const start = frame(FRAME.headers, flags, 1, head);
          if (pauseMs === 0) client.send(start, ...frames);
          else {
            client.send(start);
            for (const part of frames) {
              await sleep(pauseMs);
              client.send(part);
            }
          }
          if (frames.at(-1)?.[3] !== FRAME.reset)
            // More data than announced is an error of the whole connection for nghttp2.
            await client.until(
              ({ http2, hasFin }) => hasFin || http2?.hasEnd(1) === true || http2?.resetCode(1) != null,
              'over',
            );
          // By then, whatever was forwarded before has arrived too.
          assert.equal(await edge.status(host, `${path}-after`), 200);
          client.destroy();
        }
        await sleep(20);
        const arrived = seen().filter((one) => paths.some((path) => one.startsWith(`${path} `)));
        assert.deepEqual(arrived, arrives === null ? [] : paths.map((path) => `${path} ${arrives}`));
      });
    }
  });
}
