import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EdgeWorld } from '../../support/edge-world.ts';
import { type RecordingUpstream, recordingUpstream } from './recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2, type WebSocketEnd } from './web-socket.ts';

/** Much longer than any of these tests may take. */
const SHUTDOWN_SECONDS = 120;
const CLOSE_1001 = Buffer.from([0x88, 0x02, 0x03, 0xe9]);

interface Opened {
  readonly world: EdgeWorld;
  readonly upstream: RecordingUpstream;
  readonly ends: readonly WebSocketEnd[];
  readonly host: string;
}

async function open(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const upstream = await recordingUpstream({ after: (task) => t.after(task) });
  const ends = echoingWebSockets(upstream);
  const world = await EdgeWorld.open(t, { POSTERN_SHUTDOWN_TIMEOUT: String(SHUTDOWN_SECONDS), ...env });
  const { host } = await world.site(await world.staticBackend(upstream.address));
  return { world, upstream, ends, host };
}

/** All bytes from now on, once the stream has ended. */
function restOf(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return once(stream, 'close').then(() => Buffer.concat(chunks));
}

function frameOf(size: number): Buffer {
  const head = size < 126 ? Buffer.from([0x82, size]) : Buffer.from([0x82, 126, size >> 8, size & 0xff]);
  return Buffer.concat([head, Buffer.alloc(size, 'x')]);
}

/** Sends one frame after the other, as fast as they are taken. */
function pour(stream: Duplex, frame: Buffer): void {
  const send = (): void => {
    while (stream.writable && stream.write(frame));
  };
  stream.on('drain', send);
  send();
}

async function closedWithin(world: EdgeWorld): Promise<void> {
  const before = performance.now();
  await world.world.close();
  assert.ok(performance.now() - before < (SHUTDOWN_SECONDS * 1000) / 2, 'it waited for the deadline');
}

suite('WebSockets when the server stops', () => {
  test('closes idle ones with 1001 on both sides, without delay', async (t) => {
    const { world, ends, host } = await open(t);
    const one = await openWebSocket(await world.connect(host), host);
    const other = await openWebSocketOverHttp2(await world.http2(host), host);
    assert.ok((await one.echoes('a')) && (await other.echoes('b')));
    const rests = [one, other].map(({ stream }) => restOf(stream));
    const upstreams = ends.map(({ stream }) => restOf(stream));
    await closedWithin(world);
    for (const rest of await Promise.all(rests)) assert.deepEqual(rest, CLOSE_1001);
    for (const rest of await Promise.all(upstreams)) assert.deepEqual([...rest.subarray(0, 2)], [0x88, 0x82]);
  });

  test('closes one in the middle of a frame after it', async (t) => {
    const { world, ends, host } = await open(t);
    const one = await openWebSocket(await world.connect(host), host);
    assert.ok(await one.echoes('a'));
    const rest = restOf(one.stream);
    const end = ends[0] as WebSocketEnd;
    // The client must not respond to the Close frame in the middle of its own frame.
    end.onMessage = () => {};
    const upstream = end.stream;
    upstream.write(Buffer.from([0x81, 4, 0x61, 0x62]));
    await once(one.stream, 'data');
    const closed = closedWithin(world);
    await sleep(50);
    upstream.write(Buffer.from([0x63, 0x64]));
    await closed;
    assert.deepEqual(await rest, Buffer.concat([Buffer.from([0x81, 4]), Buffer.from('abcd'), CLOSE_1001]));
  });

  for (const protocol of ['HTTP/1.1', 'HTTP/2']) {
    test(`closes one over ${protocol} between two frames although its service sends without a pause`, async (t) => {
      const { world, ends, host } = await open(t);
      const sockets: { readonly frame: Buffer; readonly rest: Promise<Buffer> }[] = [];
      for (const size of [1, 1003, 60_001]) {
        const socket =
          protocol === 'HTTP/2'
            ? await openWebSocketOverHttp2(await world.http2(host), host)
            : await openWebSocket(await world.connect(host), host);
        assert.ok(await socket.echoes('a'));
        const frame = frameOf(size);
        sockets.push({ frame, rest: restOf(socket.stream) });
        pour((ends.at(-1) as WebSocketEnd).stream, frame);
      }
      await sleep(100);
      await closedWithin(world);
      for (const { frame, rest } of sockets) {
        const bytes = await rest;
        const count = (bytes.length - CLOSE_1001.length) / frame.length;
        assert.ok(Number.isInteger(count), `${bytes.length} bytes of frames with ${frame.length}`);
        assert.ok(bytes.equals(Buffer.concat([...Array(count).fill(frame), CLOSE_1001])));
      }
    });
  }

  test('finishes a large frame no faster than the client reads it', async (t) => {
    const { world, ends, host } = await open(t, { POSTERN_SHUTDOWN_TIMEOUT: '3' });
    const socket = await openWebSocket(await world.connect(host), host);
    assert.ok(await socket.echoes('a'));
    socket.stream.pause();
    const { stream } = ends[0] as WebSocketEnd;
    const total = 268_435_456;
    stream.write(Buffer.from([0x82, 127, 0, 0, 0, 0, 0x10, 0, 0, 0]));
    const chunk = Buffer.alloc(65_536);
    let sent = 0;
    const send = (): void => {
      while (sent < total && stream.writable) {
        sent += chunk.length;
        if (!stream.write(chunk)) return;
      }
    };
    stream.on('drain', send);
    send();
    await sleep(200);
    const before = sent;
    await closedWithin(world);
    assert.ok(sent - before < 33_554_432, `${sent - before} bytes were taken although nobody read`);
  });

  test('a request in progress finishes beside them', async (t) => {
    const { world, upstream, host } = await open(t);
    const socket = await openWebSocket(await world.connect(host), host);
    assert.ok(await socket.echoes('a'));
    let release = (): void => {};
    const begun = new Promise<void>((resolve) => {
      upstream.answer = (_request, response) => {
        release = () => response.end('whole');
        resolve();
      };
    });
    const asked = world.ask(host);
    await begun;
    const closed = closedWithin(world);
    await socket.closed;
    release();
    assert.equal((await asked).text, 'whole');
    await closed;
  });
});

test('for drain_delay seconds /healthz reports draining, and new connections are served', async (t) => {
  const { world, upstream, host } = await open(t, { POSTERN_DRAIN_DELAY: '3' });
  upstream.answer = (_request, response) => response.end('still here');
  assert.equal((await world.world.api('GET', '/healthz')).status, 200);
  const closed = closedWithin(world);
  const health = await world.world.api('GET', '/healthz');
  assert.deepEqual([health.status, health.body.status], [503, 'draining']);
  assert.equal((await world.ask(host)).text, 'still here');
  await closed;
  await assert.rejects(world.ask(host));
});
