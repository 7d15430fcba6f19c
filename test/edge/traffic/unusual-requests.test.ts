// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type ClientHttp2Stream,
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { rawExchange } from './raw-exchange.ts';
import { recordingUpstream } from './recording-upstream.ts';

/** Requests that HTTP allows and the runtime refuses to send over HTTP/2: some caused a 500, some ended the server. */
const authority = await UpstreamAuthority.trusted({ after });
const world = await TunnelWorld.open({ after });
const { edge } = world;

interface Seen {
  readonly fields: readonly string[];
  readonly trailers: readonly string[];
}
interface Service {
  readonly port: number;
  /** The latest complete request. */
  seen(): Seen | undefined;
}

async function http1Service(): Promise<Service> {
  const upstream = await recordingUpstream({ after });
  const last = (): Seen | undefined => {
    const seen = upstream.seen.at(-1);
    return seen === undefined ? undefined : { fields: seen.rawHeaders, trailers: seen.rawTrailers };
  };
  return { port: Number(upstream.address.split(':').at(-1)), seen: last };
}

async function http2Service(server: Http2Server): Promise<Service> {
  let last: Seen | undefined;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('stream', (stream: ServerHttp2Stream, _headers: unknown, _flags: number, fields: unknown) => {
    let trailers: readonly string[] = [];
    stream.on('trailers', (_fields, _flags, raw: unknown) => {
      trailers = raw as readonly string[];
    });
    stream.on('error', () => {}).resume();
    stream.on('end', () => {
      last = { fields: fields as readonly string[], trailers };
      stream.respond({ ':status': 200 });
      stream.end('ok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen: () => last };
}

const { certificatePem: cert, keyPem: key } = await authority.issue();
const ways = [
  await directWay('an HTTP/1.1 upstream', await http1Service(), false),
  await directWay(
    'an HTTP/2 upstream',
    await http2Service(createSecureServer({ cert, key }) as unknown as Http2Server),
    true,
  ),
  await tunnelWay('a tunnel to an HTTP/1.1 service', await http1Service(), 'http'),
  await tunnelWay('a tunnel to an HTTP/2 service', await http2Service(createServer()), 'h2c'),
];

async function directWay(name: string, service: Service, isTls: boolean) {
  const { host } = await edge.site(await edge.staticBackend(`localhost:${service.port}`, isTls));
  return { name, service, host };
}

async function tunnelWay(name: string, service: Service, scheme: string) {
  const agent = await world.agent([{ proto: 'https', addr: `${scheme}://127.0.0.1:${service.port}` }]);
  return { name, service, host: new URL(agent.publicUrl ?? '').hostname };
}

const FIELDS = ['referer', 'if-match', 'range', 'user-agent', 'constructor', '__proto__'].flatMap((name) => [
  name,
  'a',
  name,
  'b',
]);
const TRAILERS = ['etag', 'referer', 'user-agent', 'constructor'].flatMap((name) => [name, 'a', name, 'b']);

const clients: Readonly<Record<string, (host: string) => Promise<number>>> = {
  'HTTP/1.1': async (host) => {
    const lines = (list: readonly string[]): string =>
      list.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n${lines(FIELDS)}\r\n`;
    const socket = await edge.connect(host);
    const isEnough = (soFar: string): boolean => soFar.includes('\r\n\r\n');
    const answer = await rawExchange(socket, `${head}2\r\nhi\r\n0\r\n${lines(TRAILERS)}\r\n`, { isEnough });
    socket.destroy();
    return answer.statuses[0] ?? 0;
  },
  'HTTP/2': async (host) => {
    const session = await edge.http2(host, { strictSingleValueFields: false } as object);
    const head = [':method', 'POST', ':path', '/', ':scheme', 'https', ':authority', host, ...FIELDS];
    const stream: ClientHttp2Stream = session.request(head, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      const trailers = TRAILERS.filter((_, at) => at % 4 === 0).map((name) => [name, ['a', 'b']]);
      stream.sendTrailers(Object.fromEntries(trailers));
    });
    stream.end('hi');
    const [headers] = await once(stream, 'response');
    session.destroy();
    return headers[':status'];
  },
};

function pairs(list: readonly string[], names: readonly string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < list.length; at += 2) {
    if (names.includes(String(list[at]))) found.push(`${list[at]}: ${list[at + 1]}`);
  }
  return found.toSorted();
}

for (const [client, ask] of Object.entries(clients)) {
  suite(`repeated fields, from an ${client} client`, () => {
    for (const { name, service, host } of ways) {
      // The first waits for a connection to the upstream, the second finds one.
      for (const which of ['first', 'second']) {
        test(`reach ${name} unchanged, ${which} request`, async () => {
          assert.equal(await ask(host), 200);
          const seen = service.seen();
          // An underscore makes it an alias of another name, which the edge drops.
          const names = [...new Set(FIELDS.filter((field, at) => at % 2 === 0 && field !== '__proto__'))];
          assert.deepEqual(pairs(seen?.fields ?? [], names), pairs(FIELDS, names));
          assert.deepEqual(pairs(seen?.trailers ?? [], names.concat('etag')), pairs(TRAILERS, TRAILERS));
        });
      }
    }
  });
}
