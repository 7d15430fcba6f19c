import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { TunnelSpec } from '../../src/tunnel/agent/index.ts';
import { backendCertificate, http2Server, httpsServer } from '../upstream/tls-servers.ts';
import { agentFor, fakeGateway } from './support/agent-world.ts';
import type { FakeConnection } from './support/fake-gateway.ts';

async function worldFor(t: TestContext, spec: Omit<TunnelSpec, 'proto'>) {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, { tunnels: [{ proto: 'https', ...spec }] });
  await agent.ready;
  const connection: FakeConnection = await gateway.connection(0);
  return { connection, tunnel: agent.tunnels[0]?.id ?? '' };
}

/** Like a gRPC server: trailers report the result, with or without a body. */
function answerGrpc(stream: ServerHttp2Stream, path: string): void {
  if (path === '/trailers-only') {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5' }, { endStream: true });
    return;
  }
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.pipe(stream);
}

async function assertGrpc({ connection, tunnel }: { connection: FakeConnection; tunnel: string }): Promise<void> {
  const headers = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };
  const whole = await connection.request(tunnel, headers, 'message');
  assert.deepEqual([whole.body, whole.trailers['grpc-status']], ['message', '0']);
  const short = await connection.request(tunnel, { ...headers, ':path': '/trailers-only' }, 'message');
  assert.deepEqual([short.headers['grpc-status'], short.headers['content-length']], ['5', undefined]);
}

test('gRPC reaches a service behind TLS that offers HTTP/2', async (t) => {
  const service = await http2Server();
  t.after(() => service[Symbol.asyncDispose]());
  service.server.on('stream', (stream: ServerHttp2Stream, headers) => answerGrpc(stream, headers[':path'] ?? ''));
  const { certificatePem: ca } = await backendCertificate();
  const upstreamTls = { ca, servername: 'backend.test' };
  await assertGrpc(await worldFor(t, { addr: `https://127.0.0.1:${service.port}`, upstreamTls }));
  assert.equal(service.accepted(), 1, 'one session serves all');
});

test('gRPC reaches a service that speaks HTTP/2 without TLS', async (t) => {
  const server: Http2Server = createHttp2Server().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  server.on('stream', (stream: ServerHttp2Stream, headers) => answerGrpc(stream, headers[':path'] ?? ''));
  await assertGrpc(await worldFor(t, { addr: `h2c://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});

test('verifies the certificate of a local service unless its user disables that', async (t) => {
  const service = await httpsServer((_request, response) => response.end('secret'));
  t.after(() => service[Symbol.asyncDispose]());
  const addr = `https://127.0.0.1:${service.port}`;
  const careful = await worldFor(t, { addr });
  const refused = await careful.connection.request(careful.tunnel);
  assert.deepEqual(
    [refused.status, refused.headers['postern-tunnel-error'], refused.headers['postern-tunnel-address']],
    [502, 'tls', `127.0.0.1:${service.port}`],
  );
  const careless = await worldFor(t, { addr, upstreamTls: { insecureSkipVerify: true } });
  assert.equal((await careless.connection.request(careless.tunnel)).body, 'secret');
});
