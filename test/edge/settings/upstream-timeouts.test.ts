import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocket } from '../traffic/web-socket.ts';

/** One second each, and all of them checked by what ends and what does not, never by how fast. */
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open(
  { after },
  {
    POSTERN_UPSTREAM_CONNECT_TIMEOUT: '1',
    POSTERN_UPSTREAM_RESPONSE_TIMEOUT: '1',
    POSTERN_UPSTREAM_IDLE_TIMEOUT: '1',
  },
);
const { host } = await world.site(await world.staticBackend(upstream.address));
const TWICE_MS = 2000;

async function failures(phase: string, reason: string): Promise<number> {
  const name = `postern_edge_upstream_failures_total{phase="${phase}",reason="${reason}"} `;
  const line = (await world.metrics()).split('\n').find((text) => text.startsWith(name));
  return Number(line?.slice(name.length) ?? 0);
}

/** A listener that accepts connections and sends nothing. */
async function silentAddress(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

suite('upstream timeouts', () => {
  test('upstream_connect_timeout: an unanswered TLS handshake is 502, and the next target is tried', async () => {
    const silent = await world.staticBackend(await silentAddress(), true);
    const { host: alone } = await world.site(silent);
    const answer = await world.ask(alone);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [502, 'ERR_POSTERN_UPSTREAM_UNREACHABLE']);
    assert.equal(await failures('connect', 'timeout'), 1);
    const spare = await world.httpResponse('spare');
    const { id } = await world.api('POST', '/backends/failover', { backends: [silent, spare] });
    const { host: withSpare } = await world.site(id);
    assert.equal((await world.ask(withSpare)).text, 'spare');
  });

  test('upstream_response_timeout: silence after the request is 504, and the upstream is released', async () => {
    let isFreed: Promise<unknown> = Promise.resolve();
    upstream.answer = (request) => {
      isFreed = once(request.socket, 'close');
    };
    const answer = await world.ask(host);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [504, 'ERR_POSTERN_UPSTREAM_TIMEOUT']);
    await isFreed;
    assert.equal(await failures('head', 'timeout'), 1);
  });

  test('upstream_response_timeout counts from the end of the request: a slow upload is not cut', async () => {
    upstream.answer = null;
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      const sent = requestHttps(
        { ...world.tlsOptions(host), agent: false, method: 'POST', headers: { host } },
        resolve,
      );
      sent.on('error', reject);
      const startedAt = performance.now();
      const timer = setInterval(() => {
        sent.write('x');
        if (performance.now() - startedAt < TWICE_MS) return;
        clearInterval(timer);
        sent.end();
      }, 200);
    });
    const response = await answered;
    response.resume();
    assert.equal(response.statusCode, 200);
  });

  test('upstream_idle_timeout: a response that stops midway is cut, so that it does not look complete', async () => {
    upstream.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('beginning');
    };
    await assert.rejects(world.ask(host), /aborted|hang up|ECONNRESET/);
    assert.equal(await failures('body', 'timeout'), 1);
  });

  test('upstream_idle_timeout: a longer trickle is not cut', async () => {
    upstream.answer = (_request, response) => {
      const startedAt = performance.now();
      const timer = setInterval(() => {
        response.write('.');
        if (performance.now() - startedAt < TWICE_MS) return;
        clearInterval(timer);
        response.end('!');
      }, 200);
    };
    assert.match((await world.ask(host)).text, /^\.+!$/);
    upstream.answer = null;
  });

  test('a WebSocket may be silent for longer', async () => {
    echoingWebSockets(upstream);
    const end = await openWebSocket(await world.connect(host), host);
    assert.ok(await end.echoes('before'));
    const pause = new Promise((resolve) => setTimeout(resolve, TWICE_MS));
    await Promise.race([pause, end.closed.then(() => assert.fail('cut'))]);
    assert.ok(await end.echoes('after'));
    end.stream.destroy();
  });
});
