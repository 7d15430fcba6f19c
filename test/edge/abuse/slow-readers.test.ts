// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeWorld } from '../../support/edge-world.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2 } from '../traffic/web-socket.ts';
import {
  DATA,
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
import { meanwhileServed } from './support/honest-client.ts';
import { largeUpstream } from './support/large-upstream.ts';
import { RawHttp2 } from './support/raw-http2.ts';
import { until } from './support/until.ts';

const MB = 1 << 20;
const STREAMS = 100;
const NO_WINDOW = setting(INITIAL_WINDOW_SIZE, 0);
/** Also on a busy machine, a client that makes progress does so within this time. */
const SEND_TIMEOUT_MS = 2000;

const upstream = await largeUpstream({ after });
echoingWebSockets(upstream);
const world = await EdgeWorld.open({ after }, { POSTERN_EDGE_SEND_TIMEOUT: String(SEND_TIMEOUT_MS / 1000) });
const { host } = await world.site(await world.staticBackend(upstream.address));

async function assertAllLetGo(): Promise<void> {
  await until(async () => (await world.metrics()).includes('\npostern_edge_requests_in_flight 0\n'), 'no request left');
  await until(() => upstream.sockets.size <= 2, 'no connection to the upstream left but those kept');
}

function ask(client: RawHttp2, count: number, path: string): void {
  const block = headerBlock(host, path);
  client.send(...Array.from({ length: count }, (_, at) => frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, block)));
}

function resets(client: RawHttp2): number {
  return new Set(client.of(RST_STREAM).map(({ stream }) => stream)).size;
}

suite('clients that do not read their responses', () => {
  test('no window at all, a hundred large downloads: the upstream is blocked, then all are released', async () => {
    upstream.sent = 0;
    const client = await RawHttp2.open(world, host, NO_WINDOW);
    await meanwhileServed(world, host, async () => {
      ask(client, STREAMS, `/large/${50 * MB}`);
      await client.until(() => resets(client) === STREAMS);
    });
    assert.equal(client.of(HEADERS).length, STREAMS);
    assert.equal(
      client.of(DATA).reduce((sum, { payload }) => sum + payload.length, 0),
      0,
    );
    // Most of it is in the system's socket buffers.
    assert.ok(upstream.sent < STREAMS * 8 * MB, `${Math.round(upstream.sent / MB)} MB were sent`);
    await assertAllLetGo();
    assert.ok(!client.isClosed, 'other streams could have gone on');
    assert.match(
      await world.metrics(),
      /postern_edge_refused_total\{[^}]*module="cut",reason="answer_not_taken"\} [1-9]/,
    );
    client.destroy();
  });

  test('no window, responses that the upstream has long ended', async () => {
    const client = await RawHttp2.open(world, host, NO_WINDOW);
    await meanwhileServed(world, host, async () => {
      ask(client, STREAMS, '/small');
      await client.until(() => resets(client) === STREAMS);
    });
    await assertAllLetGo();
    client.destroy();
  });

  test('a window of one byte at a time', async () => {
    const client = await RawHttp2.open(world, host, NO_WINDOW);
    ask(client, 1, `/large/${50 * MB}`);
    const dribble = setInterval(() => client.send(windowUpdate(1, 1)), 20);
    await client.until(() => resets(client) === 1);
    clearInterval(dribble);
    assert.ok(client.of(DATA).length > 5, 'it did take some');
    await assertAllLetGo();
    client.destroy();
  });

  test('a body still being sent long after its response', async () => {
    const refused = await world.site();
    const client = await RawHttp2.open(world, refused.host);
    client.send(frame(HEADERS, END_HEADERS, 1, headerBlock(refused.host, '/', 'POST')));
    await client.until(() => resets(client) === 1);
    assert.equal(client.of(HEADERS).length, 1);
    // NO_ERROR, RFC 9113 §8.1: the response is complete.
    assert.equal(client.of(RST_STREAM)[0]?.payload.readUInt32BE(0), 0);
    client.destroy();
  });

  test('HTTP/1.1 that is not read', async () => {
    upstream.sent = 0;
    const socket = await world.connect(host);
    socket.pause();
    await meanwhileServed(world, host, async () => {
      socket.write(`GET /large/${200 * MB} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await until(() => upstream.sent > 0, 'the download begins');
      await assertAllLetGo();
    });
    socket.destroy();
  });
});

suite('slow clients', { concurrency: true }, () => {
  test('a window that opens slowly but steadily gets everything', async () => {
    const client = await RawHttp2.open(world, host, NO_WINDOW);
    const total = MB;
    ask(client, 1, `/large/${total}`);
    client.send(windowUpdate(0, 10 * total));
    const got = (): number => client.of(DATA).reduce((sum, { payload }) => sum + payload.length, 0);
    for (let at = 0; at < 16; at += 1) {
      client.send(windowUpdate(1, total / 16));
      await sleep(SEND_TIMEOUT_MS / 4);
    }
    await client.until(() => got() === total || resets(client) > 0);
    assert.equal(got(), total);
    client.destroy();
  });

  test('many responses on a connection with a slow window: none is cut while others make progress', async () => {
    const client = await RawHttp2.open(world, host, setting(INITIAL_WINDOW_SIZE, 2 ** 31 - 1));
    const total = MB / 8;
    ask(client, 16, `/large/${total}`);
    const got = (): number => client.of(DATA).reduce((sum, { payload }) => sum + payload.length, 0);
    const dribble = setInterval(() => client.send(windowUpdate(0, 32_768)), SEND_TIMEOUT_MS / 16);
    await client.until(() => got() === 16 * total || resets(client) > 0);
    clearInterval(dribble);
    assert.deepEqual([resets(client), got()], [0, 16 * total]);
    client.destroy();
  });

  test('cuts a response that nobody reads, though others on its connection are read', async () => {
    const client = await RawHttp2.open(world, host, NO_WINDOW);
    ask(client, 2, `/large/${50 * MB}`);
    const dribble = setInterval(
      () => client.send(windowUpdate(0, 32_768), windowUpdate(1, 32_768)),
      SEND_TIMEOUT_MS / 16,
    );
    await client.until(() => resets(client) > 0);
    clearInterval(dribble);
    assert.deepEqual(
      client.of(RST_STREAM).map(({ stream }) => stream),
      [3],
    );
    client.destroy();
  });

  test('HTTP/1.1 read slowly but steadily gets everything', async () => {
    const socket = await world.connect(host);
    const total = 24 * MB;
    let got = 0;
    socket.on('data', (chunk: Buffer) => {
      const pauses = Math.floor((got + chunk.length) / (2 * MB)) > Math.floor(got / (2 * MB));
      got += chunk.length;
      if (!pauses) return;
      socket.pause();
      setTimeout(() => socket.resume(), SEND_TIMEOUT_MS / 4);
    });
    socket.write(`GET /large/${total} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    await once(socket, 'close');
    assert.ok(got > total, `${got} bytes`);
  });

  test('keeps quiet WebSockets', async () => {
    const overHttp1 = await openWebSocket(await world.connect(host), host);
    const overHttp2 = await openWebSocketOverHttp2(await world.http2(host), host);
    await sleep(2.5 * SEND_TIMEOUT_MS);
    for (const end of [overHttp1, overHttp2]) assert.ok(await end.echoes('still here'));
  });
});
