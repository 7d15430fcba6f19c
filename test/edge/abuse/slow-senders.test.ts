// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  headerBlock,
  PING,
  PREFACE,
  RST_STREAM,
  SETTINGS,
} from './support/frames.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { largeUpstream } from './support/large-upstream.ts';
import { RawHttp2 } from './support/raw-http2.ts';
import { until } from './support/until.ts';

const STREAMS = 100;
const TIMEOUT_CODE = /postern-error-code: ERR_POSTERN_REQUEST_TIMEOUT/i;

const upstream = await largeUpstream({ after });
const world = await EdgeWorld.open(
  { after },
  {
    POSTERN_EDGE_HEADER_TIMEOUT: '1',
    POSTERN_EDGE_REQUEST_TIMEOUT: '2',
    POSTERN_EDGE_IDLE_TIMEOUT: '1',
    POSTERN_EDGE_SEND_TIMEOUT: '1',
  },
);
const { host } = await world.site(await world.staticBackend(upstream.address));
const answerLarge = upstream.answer;

async function connections(): Promise<number> {
  return Number(/\npostern_edge_connections (\d+)/.exec(await world.metrics())?.[1]);
}

async function assertAllLetGo(): Promise<void> {
  await until(async () => (await world.metrics()).includes('\npostern_edge_requests_in_flight 0\n'), 'no request left');
  await until(() => upstream.sockets.size <= 2, 'no connection to the upstream left but those kept');
}

suite('endless bodies', () => {
  test('over HTTP/2, a hundred on one connection: each gets 408, and the connection continues', async () => {
    const client = await RawHttp2.open(world, host);
    const block = headerBlock(host, '/never', 'POST');
    await meanwhileServed(world, host, async () => {
      const streams = Array.from({ length: STREAMS }, (_, at) => 2 * at + 1);
      client.send(...streams.map((stream) => frame(HEADERS, END_HEADERS, stream, block)));
      const dribble = setInterval(
        () => client.send(...streams.map((stream) => frame(DATA, 0, stream, Buffer.from('x')))),
        200,
      );
      await client.until(() => client.of(HEADERS).length === STREAMS);
      clearInterval(dribble);
    });
    await client.until(() => client.of(RST_STREAM).length >= STREAMS);
    assert.ok(client.of(RST_STREAM).every(({ payload }) => payload.readUInt32BE(0) === 0));
    await assertAllLetGo();
    client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1001, headerBlock(host, '/after')));
    await client.until(() => client.isAnswered(1001));
    assert.match(await world.metrics(), new RegExp(`reason="request_timeout"\\} ${STREAMS}\\n`));
    client.destroy();
  });

  test('over HTTP/1.1: a complete 408', async () => {
    const socket = await world.connect(host);
    const got = await meanwhileServed(world, host, () =>
      rawExchange(socket, `POST /never HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nabc`, {
        timeoutMs: 15_000,
      }),
    );
    assert.deepEqual([got.statuses, got.isClosed], [[408], true]);
    assert.match(got.bytes, TIMEOUT_CODE);
    assert.match(got.bytes, /postern-request-id: rq_/i);
    await assertAllLetGo();
  });

  test('over HTTP/1.1 after the response has started: it is cut, and no other response is written into it', async () => {
    upstream.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('the beginning of an answer');
    };
    const socket = await world.connect(host);
    const got = await rawExchange(
      socket,
      `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
      { timeoutMs: 15_000 },
    );
    upstream.answer = answerLarge;
    assert.deepEqual([got.statuses, got.isClosed], [[200], true]);
    assert.ok(got.bytes.endsWith('the beginning of an answer'), got.bytes);
    await assertAllLetGo();
  });
});

suite('connections without a request', { concurrency: true }, () => {
  test('an HTTP/1.1 head byte by byte: 408', async () => {
    const socket = await world.connect(host);
    const dribble = setInterval(() => socket.write('x'), 100);
    const got = await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `, { timeoutMs: 15_000 });
    clearInterval(dribble);
    assert.deepEqual([got.statuses, got.isClosed], [[408], true]);
    assert.match(got.bytes, TIMEOUT_CODE);
  });

  test('a connection that was never used is closed silently', async () => {
    const got = await rawExchange(await world.connect(host), '', { timeoutMs: 15_000 });
    assert.deepEqual([got.bytes, got.isClosed], ['', true]);
  });

  test('an HTTP/2 head byte by byte', async () => {
    const client = await RawHttp2.open(world, host);
    const bytes = frame(HEADERS, END_HEADERS | END_STREAM, 1, headerBlock(host, `/${'x'.repeat(8000)}`));
    let at = 0;
    const dribble = setInterval(() => {
      at += 1;
      client.send(bytes.subarray(at - 1, at));
    }, 50);
    await client.until(() => client.isClosed);
    clearInterval(dribble);
    assert.ok(at < bytes.length);
  });

  test('an HTTP/2 connection with only pings', async () => {
    const client = await RawHttp2.open(world, host);
    const pings = setInterval(() => client.send(frame(PING, 0, 0, Buffer.alloc(8))), 100);
    await client.until(() => client.isClosed);
    clearInterval(pings);
    assert.equal(client.goawayCode, 0);
  });
});

suite('clients that do not close their side', () => {
  test('after GOAWAY, and after a rejection of something that is not HTTP', async () => {
    await until(async () => (await connections()) === 0, 'none left of other tests');
    const halfOpen = { allowHalfOpen: true } as object;
    const idle = await world.connect(host, { ALPNProtocols: ['h2'], ...halfOpen });
    idle.resume();
    idle.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0)]));
    const garbage = await world.connect(host, halfOpen);
    garbage.resume();
    garbage.write('this is no HTTP\r\n\r\n');
    await until(async () => (await connections()) === 0, 'both are gone');
    idle.destroy();
    garbage.destroy();
  });
});
