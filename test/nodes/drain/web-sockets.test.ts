import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { after, suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RecordingUpstream, recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import {
  echoingWebSockets,
  openWebSocket,
  openWebSocketOverHttp2,
  type WebSocketEnd,
} from '../../edge/traffic/web-socket.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const SHUTDOWN_SECONDS = 2;
const CLOSE_1001 = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

const SECRET_KEY = randomBytes(32).toString('base64');

const server = await startPostgres();
after(() => server.stop());
const database = await freshDatabase(server);
after(() => database.drop());
/** The other node stays, and serves visitors while the others stop. */
const other = await EdgeWorld.open({ after }, envOf('other'), { databaseUrl: database.url });

function envOf(name: string, shutdownSeconds = SHUTDOWN_SECONDS): Readonly<Record<string, string>> {
  return {
    POSTERN_NODE_NAME: name,
    POSTERN_SECRET_KEY: SECRET_KEY,
    POSTERN_SHUTDOWN_TIMEOUT: String(shutdownSeconds),
  };
}

interface Leaving {
  readonly world: EdgeWorld;
  readonly host: string;
  readonly upstream: RecordingUpstream;
  readonly ends: readonly WebSocketEnd[];
}

async function leavingNode(t: TestContext, shutdownSeconds = SHUTDOWN_SECONDS): Promise<Leaving> {
  const upstream = await recordingUpstream({ after: (task) => t.after(task) });
  const ends = echoingWebSockets(upstream);
  const world = await EdgeWorld.open(t, envOf('leaving', shutdownSeconds), { databaseUrl: database.url });
  const { host } = await world.site(await world.staticBackend(upstream.address));
  return { world, host, upstream, ends };
}

/** All bytes from now on, and when the stream ended. */
async function restOf(stream: Duplex): Promise<{ readonly bytes: Buffer; readonly endedMs: number }> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(stream, 'close');
  return { bytes: Buffer.concat(chunks), endedMs: performance.now() };
}

suite('WebSockets of a node that stops while another one is ready', () => {
  test('stay until shutdown_timeout, then get 1001 on both sides', async (t) => {
    const { world, host, ends } = await leavingNode(t);
    const one = await openWebSocket(await world.connect(host), host);
    const two = await openWebSocketOverHttp2(await world.http2(host), host);
    const beganMs = performance.now();
    const stopped = world.world.close();
    await t.waitFor(() => assert.rejects(world.ask(host), /ECONNREFUSED/));
    await sleep((SHUTDOWN_SECONDS * 1000) / 2);
    assert.ok((await one.echoes('a')) && (await two.echoes('b')));
    const rests = [one, two].map(({ stream }) => restOf(stream));
    const upstreams = ends.map(({ stream }) => restOf(stream));
    for (const { bytes, endedMs } of await Promise.all(rests)) {
      assert.deepEqual(bytes, CLOSE_1001);
      assert.ok(endedMs - beganMs >= SHUTDOWN_SECONDS * 1000, `closed after ${endedMs - beganMs} ms`);
    }
    for (const { bytes } of await Promise.all(upstreams)) assert.deepEqual([...bytes.subarray(0, 2)], [0x88, 0x82]);
    await stopped;
  });

  test('do not delay the stop after they have ended', async (t) => {
    const muchSeconds = 600;
    const { world, host } = await leavingNode(t, muchSeconds);
    const socket = await openWebSocket(await world.connect(host), host);
    assert.ok(await socket.echoes('a'));
    const stopped = world.world.close();
    await t.waitFor(() => assert.rejects(world.ask(host), /ECONNREFUSED/));
    assert.ok(await socket.echoes('b'));
    socket.stream.end();
    await stopped;
  });

  test('are cut a second later if one of their messages never ends', async (t) => {
    const { world, host, ends } = await leavingNode(t);
    const socket = await openWebSocket(await world.connect(host), host);
    assert.ok(await socket.echoes('a'));
    const [end] = ends;
    assert.ok(end);
    // The client must not respond to the Close frame in the middle of its own frame.
    end.onMessage = () => {};
    const half = Buffer.from([0x81, 4, 0x61, 0x62]);
    const rest = restOf(socket.stream);
    end.stream.write(half);
    await world.world.close();
    assert.deepEqual((await rest).bytes, half);
  });

  test('are still closed when their permission ends', async (t) => {
    const { world, host } = await leavingNode(t, 600);
    const socket = await openWebSocket(await world.connect(host), host);
    assert.ok(await socket.echoes('a'));
    const stopped = world.world.close();
    await t.waitFor(() => assert.rejects(world.ask(host), /ECONNREFUSED/));
    assert.ok(await socket.echoes('b'));
    const { https_edges: edges } = await other.api('GET', '/edges/https');
    const edge = edges.find(
      ({ hostports }: { readonly hostports: readonly string[] }) => hostports[0] === `${host}:443`,
    );
    await other.api('DELETE', `/edges/https/${edge.id}`);
    await socket.closed;
    await stopped;
  });
});

test('WebSockets that another node forwards to an agent of a node that stops get 1001 at the end of its drain', async (t) => {
  const upstream = await recordingUpstream({ after: (task) => t.after(task) });
  const ends = echoingWebSockets(upstream);
  const leaving = await TunnelWorld.open(t, envOf('leaving'), { databaseUrl: database.url });
  const { token: authtoken } = await leaving.edge.api('POST', '/credentials', {});
  const agent = await leaving.agent([{ proto: 'https', addr: upstream.address }], { authtoken });
  const { hostname: host } = new URL(agent.publicUrl ?? '');
  const open: readonly (() => Promise<WebSocketEnd>)[] = [
    async () => openWebSocket(await other.connect(host), host),
    async () => openWebSocketOverHttp2(await other.http2(host), host),
  ];
  await t.waitFor(async () => assert.equal((await other.ask(host)).status, 200), { timeout: 20_000 });
  const sockets = await Promise.all(open.map((one) => one()));
  for (const socket of sockets) assert.ok(await socket.echoes('a'));
  const rests = sockets.map(({ stream }) => restOf(stream));
  const upstreams = ends.map(({ stream }) => restOf(stream));
  const beganMs = performance.now();
  const stopped = leaving.edge.world.close();
  await sleep((SHUTDOWN_SECONDS * 1000) / 2);
  for (const socket of sockets) assert.ok(await socket.echoes('b'));
  for (const { bytes, endedMs } of await Promise.all(rests)) {
    assert.deepEqual(bytes.subarray(-4), CLOSE_1001);
    assert.ok(endedMs - beganMs >= SHUTDOWN_SECONDS * 1000, `closed after ${endedMs - beganMs} ms`);
  }
  for (const { bytes } of await Promise.all(upstreams)) assert.deepEqual([...bytes.subarray(-8, -6)], [0x88, 0x82]);
  await stopped;
});

test('WebSockets of the last node are closed immediately', async (t) => {
  const alone = await freshDatabase(server);
  t.after(() => alone.drop());
  const upstream = await recordingUpstream({ after: (task) => t.after(task) });
  echoingWebSockets(upstream);
  const world = await EdgeWorld.open(t, envOf('last', 600), { databaseUrl: alone.url });
  const { host } = await world.site(await world.staticBackend(upstream.address));
  const socket = await openWebSocket(await world.connect(host), host);
  const rest = restOf(socket.stream);
  await world.world.close();
  assert.deepEqual((await rest).bytes, CLOSE_1001);
});
