import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { agentFor, fakeGateway, httpWorld, localTcp } from './support/agent-world.ts';
import type { FakeConnection } from './support/fake-gateway.ts';

async function headOf(stream: NodeJS.EventEmitter): Promise<IncomingHttpHeaders> {
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  return headers;
}

/** A masked text frame, as clients send them. */
function textFrame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

async function tcpWorld(t: TestContext, addr: number) {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, { tunnels: [{ proto: 'tcp', addr: `127.0.0.1:${addr}` }] });
  await agent.ready;
  const connection: FakeConnection = await gateway.connection(0);
  return { agent, connection, tunnel: agent.tunnels[0]?.id ?? '' };
}

test('a WebSocket is an extended CONNECT at the gateway and an upgrade at the service', async (t) => {
  const { connection, tunnel, server, agent } = await httpWorld(t, (_request, response) => response.end());
  const sockets = new WebSocketServer({ server });
  t.after(() => sockets.close());
  const protocols = new Set<string>();
  sockets.on('connection', (socket, request) => {
    protocols.add(request.headers['sec-websocket-protocol'] ?? '');
    socket.on('message', (data) => socket.send(`echo ${(data as Buffer).toString()}`));
  });
  const stream = connection.websocket(tunnel, { 'sec-websocket-protocol': 'chat' });
  const headers = await headOf(stream);
  assert.equal(headers[':status'], 200);
  assert.equal(headers['sec-websocket-accept'], undefined);
  assert.equal(headers['sec-websocket-protocol'], 'chat');
  stream.write(textFrame('hi'));
  const [frame] = (await once(stream, 'data')) as [Buffer];
  assert.deepEqual([...frame], [0x81, 7, ...Buffer.from('echo hi')]);
  assert.deepEqual([...protocols], ['chat']);
  const over = once(agent, 'request');
  for (const socket of sockets.clients) socket.terminate();
  await once(stream, 'end');
  stream.end();
  await new Promise((resolve) => stream.once('close', resolve));
  const [event] = await over;
  assert.equal(event.status, 101);
});

test('uses a key sent by the gateway, and returns its response', async (t) => {
  const { connection, tunnel, server } = await httpWorld(t, (_request, response) => response.end());
  const sockets = new WebSocketServer({ server });
  t.after(() => sockets.close());
  const stream = connection.websocket(tunnel, { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' });
  const headers = await headOf(stream);
  // RFC 6455 §1.3.
  assert.equal(headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  stream.close(8);
});

test("forwards a service's refusal of a WebSocket, and reports a wrong answer to the key as an error", async (t) => {
  const { connection, tunnel, server } = await httpWorld(t, (_request, response) => response.end('no upgrade here'));
  const plain = await headOf(connection.websocket(tunnel));
  assert.deepEqual(
    [plain[':status'], plain['postern-tunnel-error'], plain['postern-tunnel-status'], plain['content-length']],
    [502, undefined, '200', '15'],
  );
  server.on('upgrade', (request, socket) => {
    if (request.url === '/403') socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno');
    else
      socket.end('HTTP/1.1 101 OK\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: wrong\r\n\r\n');
  });
  const refused = await headOf(connection.websocket(tunnel, { ':path': '/403' }));
  assert.deepEqual([refused[':status'], refused['content-length']], [403, '2']);
  const wrong = await headOf(connection.websocket(tunnel));
  assert.deepEqual([wrong[':status'], wrong['postern-tunnel-error']], [502, 'protocol']);
});

test('forwards a TCP connection unchanged, and each direction ends separately', async (t) => {
  const port = await localTcp(t, (socket) => {
    let heard = '';
    socket.on('data', (chunk) => {
      heard += String(chunk);
    });
    socket.on('end', () => socket.end(`heard ${heard.length}`));
  });
  const { connection, tunnel, agent } = await tcpWorld(t, port);
  const opened = once(agent, 'connection');
  const stream = connection.connect(tunnel);
  assert.equal((await headOf(stream))[':status'], 200);
  const [event] = await opened;
  assert.deepEqual([event.phase, event.clientAddress], ['opened', '192.0.2.7:4711']);
  const closed = once(agent, 'connection');
  stream.end(Buffer.alloc(3_000_000, 'x'));
  let answer = '';
  for await (const chunk of stream) answer += String(chunk);
  assert.equal(answer, 'heard 3000000');
  const [end] = await closed;
  assert.deepEqual([end.phase, end.problem], ['closed', null]);
});

test('everything that a service sends before it closes arrives', async (t) => {
  const port = await localTcp(t, (socket) => socket.resume().end(Buffer.alloc(8_000_000, 'y')));
  const { connection, tunnel } = await tcpWorld(t, port);
  const stream = connection.connect(tunnel);
  let bytes = 0;
  for await (const chunk of stream) bytes += (chunk as Buffer).length;
  assert.equal(bytes, 8_000_000);
});

test('forwards resets of TCP connections both ways', async (t) => {
  const resets = Promise.withResolvers<void>();
  const port = await localTcp(t, (socket) => {
    socket.on('data', (chunk) => {
      if (String(chunk) === 'reset') socket.resetAndDestroy();
    });
    socket.on('close', () => resets.resolve());
  });
  const { connection, tunnel } = await tcpWorld(t, port);
  const one = connection.connect(tunnel);
  await headOf(one);
  one.write('reset');
  await new Promise((resolve) => one.once('close', resolve));
  assert.equal(one.rstCode, 8);
  const two = connection.connect(tunnel);
  await headOf(two);
  two.close(8);
  await resets.promise;
});

test('names a port where nothing listens, and a tunnel accepts only its own kind', async (t) => {
  const port = await localTcp(t, () => {});
  const { connection, tunnel, agent } = await tcpWorld(t, 1);
  const failed = once(agent, 'connection');
  const headers = await headOf(connection.connect(tunnel));
  assert.deepEqual(
    [headers[':status'], headers['postern-tunnel-error'], headers['postern-tunnel-address']],
    [502, 'refused', '127.0.0.1:1'],
  );
  const [event] = await failed;
  assert.equal(event.phase, 'failed');
  assert.equal((await connection.request(tunnel)).status, 404);
  const http = await httpWorld(t, (_request, response) => response.end(String(port)));
  assert.equal((await headOf(http.connection.connect(http.tunnel)))[':status'], 404);
  assert.equal((await headOf(http.connection.connect('tn_unknown')))[':status'], 404);
  assert.equal((await http.connection.request('tn_unknown')).status, 404);
});
