import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer as createTcp } from 'node:net';
import type { Readable } from 'node:stream';
import { after, test } from 'node:test';
import Type from 'typebox';
import { defineModule, enabledField } from '../../../src/modules/contract/module.ts';
import type { BackendOutcome } from '../../../src/modules/contract/prepared-module.ts';
import { modules } from '../../../src/modules/registry.ts';
import { until } from '../../support/cluster.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { deadAddress, recordingUpstream } from '../traffic/recording-upstream.ts';
import { ask, begin, PROTOCOLS } from './hooked-client.ts';

const DAY_MS = 86_400_000;

const outcomes: BackendOutcome[] = [];
const listening = defineModule({
  name: 'a_listener',
  on: ['requests'],
  decidesAccess: false,
  readsPath: false,
  title: 'The a_listener module',
  description: 'For tests.',
  config: Type.Object({ enabled: enabledField }),
  example: {},
  prepare: () => ({ ok: true, prepared: { settled: (_request, outcome) => void outcomes.push(outcome) } }),
});

let skippedMs = 0;
const clock = { nowMs: () => Date.now() + skippedMs };
const edge = await EdgeWorld.open({ after }, {}, { modules: [listening, ...modules], clock });
const upstream = await recordingUpstream({ after });

async function site(backendId: string): Promise<{ readonly host: string; readonly routePath: string }> {
  const made = await edge.site(backendId);
  await edge.api('PUT', `${made.routePath}/a_listener`, {});
  return made;
}

/** The outcomes since the last call: one per protocol. */
async function settled(count: number = PROTOCOLS.length): Promise<readonly BackendOutcome[]> {
  await until('all requests are settled', () => outcomes.length >= count);
  return outcomes.splice(0);
}

const served = await site(await edge.staticBackend(upstream.address));

async function askEach(host: string): Promise<void> {
  for (const protocol of PROTOCOLS) await ask(edge, host, protocol).catch(() => {});
}

for (const [name, answer, expected] of [
  ['a response', (response: ServerResponse) => response.end('ok'), 'served'],
  ['a response of 404', (response: ServerResponse) => response.writeHead(404).end(), 'served'],
  ['a response of 500', (response: ServerResponse) => response.writeHead(500).end('no'), 'server_error'],
  [
    'a response with too large headers, of which a visitor may have chosen some,',
    (response: ServerResponse) => response.writeHead(302, { location: `/login?next=${'x'.repeat(200_000)}` }).end(),
    'none',
  ],
  ['a connection that ends without a response', (response: ServerResponse) => response.socket?.destroy(), 'failed'],
  [
    'a response that breaks off',
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-length': '10' }).write('half', () => response.socket?.destroy());
    },
    'failed',
  ],
  [
    'a malformed response',
    (response: ServerResponse) => response.socket?.end('HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n'),
    'failed',
  ],
] as const) {
  test(`${name} is reported once as ${expected}`, async () => {
    upstream.answer = (request, response) => void request.resume().on('end', () => answer(response));
    await askEach(served.host);
    assert.deepEqual(await settled(), [expected, expected]);
  });
}

test('a backend that cannot be reached has failed, once for all of its targets', async () => {
  const dead = [await edge.staticBackend(await deadAddress()), await edge.staticBackend(await deadAddress())];
  const { id } = await edge.api('POST', '/backends/failover', { backends: dead });
  const { host } = await site(id);
  await askEach(host);
  assert.deepEqual(await settled(), ['failed', 'failed']);
  upstream.answer = (_request, response) => void response.end('ok');
  await edge.api('PATCH', `/backends/failover/${id}`, {
    backends: [dead[0], await edge.staticBackend(upstream.address)],
  });
  await askEach(host);
  assert.deepEqual(await settled(), ['served', 'served']);
});

test('visitors who leave, refusals of modules and responses of the edge tell nothing about the backend', async () => {
  for (const protocol of PROTOCOLS) {
    const arrived = Promise.withResolvers<void>();
    upstream.answer = () => arrived.resolve();
    const { outgoing } = await begin(edge, served.host, protocol);
    outgoing.end();
    await arrived.promise;
    outgoing.destroy();
  }
  assert.deepEqual(await settled(), ['none', 'none']);
  await edge.api('PUT', `${served.routePath}/user_agent_filter`, { deny: ['.'] });
  await askEach(served.host);
  assert.deepEqual(await settled(), ['none', 'none']);
  await edge.api('DELETE', `${served.routePath}/user_agent_filter`);
  const { id } = await edge.api('POST', '/backends/http_response', { status_code: 503, body: 'closed' });
  await askEach((await site(id)).host);
  assert.deepEqual(await settled(), ['none', 'none']);
});

test('a visitor who stops sending or reading tells nothing about the backend', async (t) => {
  const patient = await EdgeWorld.open(t, { POSTERN_UPSTREAM_IDLE_TIMEOUT: '1' }, { modules: [listening, ...modules] });
  const { host, routePath } = await patient.site(await patient.staticBackend(upstream.address));
  await patient.api('PUT', `${routePath}/a_listener`, {});
  upstream.answer = (request) => void request.resume();
  for (const protocol of PROTOCOLS) {
    const { outgoing, answered } = await begin(patient, host, protocol, { method: 'POST', body: '' });
    outgoing.on('error', () => {}).write('begins');
    assert.equal((await answered).status, 504);
    outgoing.destroy();
  }
  assert.deepEqual(await settled(), ['none', 'none']);
  upstream.answer = (_request, response) => void response.end(Buffer.alloc(64_000_000));
  for (const protocol of PROTOCOLS) {
    const { outgoing, answered } = await begin(patient, host, protocol);
    outgoing.on('error', () => {}).end();
    const { incoming } = await answered;
    incoming.on('error', () => {}).pause();
    assert.deepEqual(await settled(1), ['none']);
    incoming.destroy();
    outgoing.destroy();
  }
});

test('a backend that closes the connection in the middle of an upload has not failed', async () => {
  upstream.answer = (request) => void request.once('data', () => request.socket.destroy());
  for (const protocol of PROTOCOLS) {
    const { outgoing, answered } = await begin(edge, served.host, protocol, { method: 'POST', body: '' });
    outgoing.on('error', () => {}).write('begins');
    assert.equal((await answered).status, 502);
    outgoing.destroy();
  }
  assert.deepEqual(await settled(), ['none', 'none']);
  upstream.answer = (request) => void request.resume().on('end', () => request.socket.destroy());
  for (const protocol of PROTOCOLS) await ask(edge, served.host, protocol, { method: 'POST', body: 'whole' });
  assert.deepEqual(await settled(), ['failed', 'failed']);
});

/** Closes with unread bytes, so that its kernel resets the connection. */
async function unreadingService(): Promise<string> {
  const service = createTcp((socket) => {
    socket.on('error', () => {}).once('data', () => socket.pause());
    setTimeout(() => socket.resetAndDestroy(), 200);
  });
  return `127.0.0.1:${await listenOn({ after }, service)}`;
}

test('a service that closes the connection without reading an upload that has arrived whole has not failed, also through a tunnel', async () => {
  const world = await TunnelWorld.open({ after }, {}, { modules: [listening, ...modules] });
  const addr = await unreadingService();
  await world.agent([{ labels: { app: 'unreading' }, addr }]);
  const group = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'unreading' } });
  for (const backendId of [await world.edge.staticBackend(addr), group.id as string]) {
    const { host, routePath } = await world.edge.site(backendId);
    await world.edge.api('PUT', `${routePath}/a_listener`, {});
    for (const protocol of PROTOCOLS) {
      for (const body of ['short', 'x'.repeat(50_000)]) {
        const { status } = await ask(world.edge, host, protocol, { method: 'POST', body });
        assert.equal(status, 502);
      }
    }
    assert.deepEqual(await settled(4), ['none', 'none', 'none', 'none']);
    await ask(world.edge, host, 'http/1.1');
    assert.deepEqual(await settled(1), ['failed'], 'there was nothing to read');
  }
});

test('a visitor who leaves after the head of a 500 does not hide it', async () => {
  upstream.answer = (_request, response) => void response.writeHead(500).write('begins');
  for (const protocol of PROTOCOLS) {
    const { outgoing, answered } = await begin(edge, served.host, protocol);
    outgoing.end();
    const { incoming } = await answered;
    incoming.on('error', () => {}).destroy();
    outgoing.destroy();
  }
  assert.deepEqual(await settled(), ['server_error', 'server_error']);
});

test('a stream counts as served while it runs, and its end counts no more', async () => {
  const running: ServerResponse[] = [];
  upstream.answer = (_request, response) => {
    running.push(response);
    response.write('event');
  };
  const streams: Readable[] = [];
  for (const protocol of PROTOCOLS) {
    const sent = await begin(edge, served.host, protocol);
    sent.outgoing.end();
    streams.push((await sent.answered).incoming.on('error', () => {}).resume());
  }
  assert.deepEqual(outcomes, []);
  skippedMs += DAY_MS;
  assert.deepEqual(await settled(), ['served', 'served']);
  for (const response of running) response.socket?.destroy();
  await until('both are cut', () => streams.every((stream) => stream.destroyed));
  assert.deepEqual(outcomes, []);
});

test('a protocol switch counts when it is accepted', async () => {
  upstream.onUpgrade = (_request, socket) =>
    void socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
    );
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  const { outgoing } = await begin(edge, served.host, 'http/1.1', {
    headers: { ...headers, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
  });
  assert.deepEqual(await settled(1), ['served']);
  outgoing.destroy();
  upstream.onUpgrade = null;
});
