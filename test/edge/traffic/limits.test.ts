import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from './raw-exchange.ts';
import { recordingUpstream } from './recording-upstream.ts';
import { echoingWebSockets, openWebSocketOverHttp2 } from './web-socket.ts';

/** Far longer than the timeouts below: a busy machine is late. */
const PATIENCE_MS = 30_000;

const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
const world = await EdgeWorld.open(
  { after },
  {
    POSTERN_EDGE_HEADER_TIMEOUT: '1',
    POSTERN_EDGE_IDLE_TIMEOUT: '1',
    POSTERN_UPSTREAM_RESPONSE_TIMEOUT: '1',
    POSTERN_UPSTREAM_ALLOW_CIDRS: '127.0.0.0/8',
  },
);
const { host } = await world.site(await world.staticBackend(upstream.address));

suite('slow and idle peers', { concurrency: true }, () => {
  test('cuts off a head that arrives byte by byte', async () => {
    const socket = await world.connect(host);
    const timer = setInterval(() => socket.write('x'), 100);
    const answer = await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Slow: `, { timeoutMs: PATIENCE_MS });
    clearInterval(timer);
    assert.ok(answer.isClosed, 'still open');
    assert.deepEqual(answer.statuses, [408]);
  });

  test('cuts off a connection without a request', async () => {
    const socket = await world.connect(host);
    assert.ok((await rawExchange(socket, '', { timeoutMs: PATIENCE_MS })).isClosed);
  });

  test('closes a used connection that is idle', async () => {
    const socket = await world.connect(host);
    const answer = await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, { timeoutMs: PATIENCE_MS });
    assert.deepEqual([answer.statuses, answer.isClosed], [[200], true]);
  });

  test('closes an idle HTTP/2 connection, but not one with a quiet WebSocket', async () => {
    const busy = await world.http2(host);
    const client = await openWebSocketOverHttp2(busy, host);
    const resting = await world.http2(host);
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, 'still open').unref());
    const ended = new Promise((resolve) => resting.once('close', () => resolve('closed')));
    assert.equal(await Promise.race([ended, late]), 'closed');
    assert.ok(await client.echoes('still here'));
    busy.destroy();
  });

  test('a request over HTTP/2 that announces no body and does not end costs 408', async () => {
    const session = await world.http2(host);
    const client = await openWebSocketOverHttp2(session, host);
    const stream = session.request({ ':method': 'POST', ':path': '/endless', 'content-length': '0' });
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, 'no response').unref());
    const answered = new Promise((resolve) => stream.once('response', (head) => resolve(head[':status'])));
    assert.equal(await Promise.race([answered, late]), 408);
    assert.ok(await client.echoes('still here'));
    assert.ok(!upstream.seen.some(({ url }) => url === '/endless'));
    session.destroy();
  });

  test('an upstream that does not respond costs 504', async () => {
    const slow = await recordingUpstream({ after });
    slow.answer = () => {};
    const site = await world.site(await world.staticBackend(slow.address));
    const answer = await world.ask(site.host);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [504, 'ERR_POSTERN_UPSTREAM_TIMEOUT']);
  });

  test('a backend cannot be the edge or the API itself', async () => {
    const { port } = world.world.server.addresses.api;
    for (const address of [`127.0.0.1:${world.port}`, `127.0.0.1:${port}`]) {
      const site = await world.site(await world.staticBackend(address));
      assert.equal(await world.status(site.host), 502);
    }
  });
});
