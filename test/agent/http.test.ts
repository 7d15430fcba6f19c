import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { agentFor, fakeGateway, httpWorld } from './support/agent-world.ts';
import { answerOf } from './support/fake-gateway.ts';

test('sends hello, binds its tunnels and knows their URLs', async (t) => {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, {
    metadata: 'about me',
    tunnels: [
      { proto: 'https', addr: 8080, domain: 'app.gateway.test', metadata: 'first' },
      { labels: { app: 'x' }, addr: 'localhost:9090' },
      { proto: 'tcp', addr: 22, port: 20_022 },
    ],
  });
  await agent.ready;
  const connection = await gateway.connection(0);
  const { token, version, metadata, remote_management } = connection.hello;
  assert.deepEqual(
    { token, version, metadata, remote_management },
    { token: 'token', version: 1, metadata: 'about me', remote_management: true },
  );
  assert.equal(agent.status, 'online');
  assert.equal(agent.publicUrl, 'https://app.gateway.test');
  assert.deepEqual(
    agent.tunnels.map(({ publicUrl: url, proto, status, forwardsTo }) => ({ url, proto, status, forwardsTo })),
    [
      { url: 'https://app.gateway.test', proto: 'https', status: 'online', forwardsTo: 'http://localhost:8080' },
      { url: null, proto: null, status: 'online', forwardsTo: 'http://localhost:9090' },
      { url: 'tcp://gateway.test:20022', proto: 'tcp', status: 'online', forwardsTo: 'localhost:22' },
    ],
  );
});

test('forwards a request without the headers between gateway and agent', async (t) => {
  const { connection, tunnel, agent } = await httpWorld(t, (request, response) => {
    response.setHeader('postern-tunnel-error', 'refused');
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end(JSON.stringify({ url: request.url, headers: request.rawHeaders }));
  });
  const over = once(agent, 'request');
  const answer = await connection.request(tunnel, { ':path': '/p?q=1', 'x-a': '1', 'postern-request-id': 'r1' });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['postern-tunnel-error'], undefined);
  assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
  const seen = JSON.parse(answer.body) as { url: string; headers: string[] };
  assert.equal(seen.url, '/p?q=1');
  assert.deepEqual(seen.headers, ['host', 'app.test', 'x-a', '1', 'postern-request-id', 'r1']);
  const [event] = await over;
  assert.equal(event.status, 200);
  assert.equal(event.path, '/p?q=1');
  assert.equal(event.bytesOut, Number(answer.headers['content-length'] ?? answer.body.length));
});

test('the local service sees the public host, its own, or another', async (t) => {
  for (const [hostHeader, expected] of [
    [undefined, 'app.test'],
    ['rewrite', null],
    ['other.test', 'other.test'],
  ] as const) {
    const gateway = await fakeGateway(t);
    const world = await httpWorld(t, (request, response) => response.end(request.headers.host));
    const agent = agentFor(t, gateway, {
      tunnels: [{ proto: 'https', addr: `http://127.0.0.1:${world.port}`, hostHeader }],
    });
    await agent.ready;
    const answer = await (await gateway.connection(0)).request(agent.tunnels[0]?.id ?? '');
    assert.equal(answer.body, expected ?? `127.0.0.1:${world.port}`);
  }
});

test('streams bodies both ways at the same time', async (t) => {
  const { connection, tunnel } = await httpWorld(t, (request, response) => {
    response.writeHead(200);
    request.pipe(response);
  });
  const stream = connection.open(tunnel, { ':method': 'POST' }, false);
  stream.write('one');
  await once(stream, 'response');
  const [first] = await once(stream, 'data');
  assert.equal(String(first), 'one');
  stream.end('two');
  const [second] = await once(stream, 'data');
  assert.equal(String(second), 'two');
  stream.resume();
  await once(stream, 'end');
});

test('forwards a large body completely, with and without a length', async (t) => {
  const { connection, tunnel } = await httpWorld(t, (request, response) => {
    response.setHeader('x-length', request.headers['content-length'] ?? request.headers['transfer-encoding'] ?? '');
    request.pipe(response);
  });
  const body = Buffer.alloc(5_000_000, 'abcdefghij');
  const withLength = await connection.request(tunnel, { ':method': 'PUT', 'content-length': body.length }, body);
  assert.equal(withLength.headers['x-length'], String(body.length));
  assert.equal(withLength.body.length, body.length);
  const without = await connection.request(tunnel, { ':method': 'PUT' }, body);
  assert.equal(without.headers['x-length'], 'chunked');
  assert.ok(without.body === body.toString());
});

test('forwards trailers both ways', async (t) => {
  const { connection, tunnel } = await httpWorld(t, (request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('data');
      response.addTrailers({ 'x-sum': `got ${request.trailers['x-check']}`, 'postern-secret': 'no' });
      response.end();
    });
  });
  const stream = connection.session.request(
    { ':method': 'POST', ':scheme': 'https', ':path': '/', ':authority': 'app.test', 'postern-tunnel': tunnel },
    { endStream: false, waitForTrailers: true },
  );
  stream.once('wantTrailers', () => stream.sendTrailers({ 'x-check': 'abc' }));
  stream.end('body');
  const answer = await answerOf(stream);
  assert.equal(answer.body, 'data');
  assert.equal(answer.trailers['x-sum'], 'got abc');
  assert.equal(answer.trailers['postern-secret'], undefined);
});

test('forwards early hints and 100-continue', async (t) => {
  const { connection, tunnel, server } = await httpWorld(t, (_request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' });
    response.end('done');
  });
  server.on('checkContinue', (request: IncomingMessage, response) => {
    response.writeContinue();
    request.pipe(response);
  });
  const hinted = connection.open(tunnel);
  const [hints] = await once(hinted, 'headers');
  assert.equal(hints[':status'], 103);
  assert.equal(hints.link, '</a.css>; rel=preload');
  assert.equal((await answerOf(hinted)).body, 'done');
  const asking = connection.open(tunnel, { ':method': 'POST', expect: '100-continue', 'content-length': 4 }, false);
  await once(asking, 'continue');
  asking.end('body');
  assert.equal((await answerOf(asking)).body, 'body');
});

test('HEAD, 204 and 304 have no body, and HEAD keeps its length', async (t) => {
  const { connection, tunnel } = await httpWorld(t, (request, response) => {
    if (request.method === 'HEAD') response.setHeader('content-length', 123);
    else response.statusCode = Number(request.url?.slice(1));
    response.end();
  });
  const head = await connection.request(tunnel, { ':method': 'HEAD' });
  assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '123', '']);
  for (const status of [204, 304]) {
    const answer = await connection.request(tunnel, { ':path': `/${status}` });
    assert.deepEqual([answer.status, answer.body], [status, '']);
  }
});

test('names a service that does not listen in the response', async (t) => {
  const { gateway, server, port, connection, tunnel, agent } = await httpWorld(t, (_request, response) =>
    response.end(),
  );
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  const over = once(agent, 'request');
  const answer = await connection.request(tunnel, { ':method': 'POST' }, 'x'.repeat(100_000));
  assert.equal(answer.status, 502);
  assert.equal(answer.headers['postern-tunnel-error'], 'refused');
  assert.equal(answer.headers['postern-tunnel-address'], `127.0.0.1:${port}`);
  const [event] = await over;
  assert.match(event.problem, /^127\.0\.0\.1:\d+ refuses connections: start the service/);
  assert.ok(gateway.connections[0]?.isOpen);
});

test('resets instead of ending when a response is truncated', async (t) => {
  const { connection, tunnel } = await httpWorld(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('half', () => response.socket?.resetAndDestroy());
  });
  const stream = connection.open(tunnel);
  await once(stream, 'response');
  stream.resume();
  await new Promise((resolve) => stream.once('close', resolve));
  assert.notEqual(stream.rstCode, 0);
});

test('cancels at the local service a request that the gateway cancels', async (t) => {
  const closed = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const { connection, tunnel } = await httpWorld(t, (_request, response) => {
    arrived.resolve();
    response.on('close', () => closed.resolve());
  });
  const stream = connection.open(tunnel);
  await arrived.promise;
  stream.close(8);
  await closed.promise;
});

test('a client that does not read blocks its local service, and nobody else', async (t) => {
  let sent = 0;
  const full = Promise.withResolvers<void>();
  const { connection, tunnel } = await httpWorld(t, (request, response) => {
    if (request.url === '/small') {
      response.end('ok');
      return;
    }
    const chunk = Buffer.alloc(1_000_000);
    const more = (): void => {
      while (sent < 500_000_000 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) {
          response.once('drain', more);
          setTimeout(() => full.resolve(), 300).unref();
          return;
        }
      }
    };
    more();
  });
  const slow = connection.open(tunnel, { ':path': '/big' });
  await once(slow, 'response');
  slow.pause();
  await full.promise;
  assert.equal((await connection.request(tunnel, { ':path': '/small' })).body, 'ok');
  assert.ok(sent < 50_000_000, `the service could send ${sent} bytes to nobody`);
  slow.close(8);
});
