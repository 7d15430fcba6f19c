import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { EdgeWorld } from '../../support/edge-world.ts';
import {
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  RST_STREAM,
  setting,
  windowUpdate,
} from './support/frames.ts';
import { largeUpstream } from './support/large-upstream.ts';
import { RawHttp2 } from './support/raw-http2.ts';
import { until } from './support/until.ts';

/** More than this process keeps of a response: the rest waits in the system. */
const PATH = `/large/${1024 * 1024}`;
/** More than the system keeps of a connection. */
const LARGE = `/large/${50 * 1024 * 1024}`;
const STREAMS = 100;
const CONNECTIONS = 2;
/** Over HTTP/1.1. */
const MORE = 3;
const MOST_STALLED = 128;

const upstream = await largeUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

test('one address keeps 128 responses that it does not read, whatever it takes now and then', async (t) => {
  const block = headerBlock(host, PATH);
  const clients: RawHttp2[] = [];
  const sockets: TLSSocket[] = [];
  t.after(() => {
    for (const client of clients) client.destroy();
    for (const socket of sockets) socket.destroy();
  });
  for (let at = 0; at < CONNECTIONS; at += 1) {
    const client = await RawHttp2.open(world, host, setting(INITIAL_WINDOW_SIZE, 0));
    clients.push(client);
    for (let id = 0; id < STREAMS; id += 1) client.send(frame(HEADERS, END_HEADERS | END_STREAM, 2 * id + 1, block));
  }
  for (let at = 0; at < MORE; at += 1) {
    const socket = await world.connect(host);
    sockets.push(socket.on('error', () => {}));
    socket.write(`GET ${LARGE} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await once(socket, 'readable');
  }
  // Another address, and one of the same that reads slowly, but all the time.
  const other = await world.connect(host, { localAddress: '127.0.0.2' } as object);
  sockets.push(other.on('error', () => {}));
  other.write(`GET ${LARGE} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const reader = await RawHttp2.open(world, host, setting(INITIAL_WINDOW_SIZE, 0));
  clients.push(reader);
  reader.send(windowUpdate(0, 2 ** 24), frame(HEADERS, END_HEADERS | END_STREAM, 1, block));
  const dribble = setInterval(() => {
    for (let id = 0; id < STREAMS; id += 1)
      for (const client of clients.slice(0, CONNECTIONS)) client.send(windowUpdate(2 * id + 1, 1));
    reader.send(windowUpdate(1, 32_768));
  }, 500);
  t.after(() => clearInterval(dribble));
  const ended = async (): Promise<number> =>
    Number(/^postern_edge_refused_total\{[^}]*reason="response_not_read"\} (\d+)$/m.exec(await world.metrics())?.[1]);
  const expected = CONNECTIONS * STREAMS + MORE - MOST_STALLED;
  await until(async () => (await ended()) >= expected, 'those beyond are ended');
  assert.equal(reader.of(RST_STREAM).length, 0, 'the slow reader is served');
  // Other programs may just take what the machine has: then fewer stay.
  const isShort = world.world.logLines.some((line) => line.includes('net.ipv4.tcp_mem'));
  if (!isShort) assert.equal(await ended(), expected);
  t.diagnostic(`${await ended()} of ${CONNECTIONS * STREAMS + MORE} were ended`);
  assert.equal(other.destroyed, false);
  assert.equal(await world.status(host, '/small', { localAddress: '127.0.0.2' }), 200);
});
