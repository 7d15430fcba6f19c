import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { type PipelinedWay, pipeliningSuite, Received, request } from '../../support/clients/pipelining-suite.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { until } from '../tls/tls-world.ts';
import { recordingUpstream } from './recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const world = await TunnelWorld.open({ after }, { POSTERN_EDGE_HEADER_TIMEOUT: '1', POSTERN_EDGE_IDLE_TIMEOUT: '2' });
const { edge } = world;
const site = await edge.site(await edge.staticBackend(upstream.address));
const agent = await world.agent([
  { proto: 'https', addr: upstream.address },
  { proto: 'http', addr: upstream.address },
]);
const hosts = agent.tunnels.map(({ publicUrl }) => new URL(publicUrl ?? '').hostname);

const [tunnelHost = '', plainHost = ''] = hosts;
const WAYS: readonly PipelinedWay[] = [
  { name: 'a static backend', many: 1500, host: site.host, connect: () => edge.connect(site.host), upstream },
  { name: 'a tunnel', many: 200, host: tunnelHost, connect: () => edge.connect(tunnelHost), upstream },
  { name: 'a tunnel over plain HTTP', many: 200, host: plainHost, connect: plain, upstream },
];

async function plain(): Promise<Socket> {
  const socket = connect(edge.world.server.addresses.edgeHttp?.port ?? 0, '127.0.0.1').on('error', () => {});
  after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

for (const way of WAYS) pipeliningSuite(way);

test('pipelined requests that the edge answers itself keep their order', async () => {
  const fixed = await edge.site(await edge.httpResponse('fixed'));
  const received = new Received(await edge.connect(fixed.host));
  received.socket.write(request(fixed.host, 'GET', '/').repeat(300) + request(site.host, 'GET', '/'));
  await until(() => received.statuses.length === 301);
  assert.deepEqual(new Set(received.statuses.slice(0, 300)), new Set([200]));
  assert.equal(received.statuses[300], 421);
  received.socket.destroy();
});

test('pipelined requests to the API take effect in order', async () => {
  const { world: server } = edge;
  const { hostname, port } = new URL(server.baseUrl);
  const socket = connect(Number(port), hostname).on('error', () => {});
  after(() => socket.destroy());
  const received = new Received(socket);
  const call = (method: string, path: string, body = ''): string =>
    `${method} ${path} HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer ${TEST_API_KEY}\r\nService-Version: 2\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const path = `${site.routePath}/compression`;
  socket.write(
    Array.from({ length: 5 }, () => call('PUT', path, '{}') + call('DELETE', path) + call('GET', path)).join(''),
  );
  await until(() => received.statuses.length === 15);
  assert.deepEqual(received.statuses, Array.from({ length: 5 }, () => [200, 204, 404]).flat());
});
