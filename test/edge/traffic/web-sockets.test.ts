import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from './raw-exchange.ts';
import { recordingUpstream } from './recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2 } from './web-socket.ts';

const upstream = await recordingUpstream({ after });
const ends = echoingWebSockets(upstream);
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

suite('WebSockets', () => {
  test('over HTTP/1.1, both ways, until one side closes', async () => {
    const client = await openWebSocket(await world.connect(host), host, '/chat?room=1');
    assert.ok(await client.echoes('hello'));
    assert.ok(await client.echoes('x'.repeat(50_000)));
    assert.equal(upstream.seen.at(-1)?.url, '/chat?room=1');
    ends.at(-1)?.stream.destroy();
    await client.closed;
  });

  test('over HTTP/2 by extended CONNECT, beside other requests of the connection', async () => {
    const session = await world.http2(host);
    const client = await openWebSocketOverHttp2(session, host);
    assert.ok(await client.echoes('hello'));
    const other = session.request({ ':path': '/beside' });
    await new Promise((resolve) => other.resume().once('close', resolve));
    assert.equal(upstream.seen.at(-1)?.url, '/beside');
    assert.ok(await client.echoes('again'));
    const end = ends.at(-1);
    client.stream.end();
    await end?.closed;
    session.destroy();
  });

  test("over HTTP/2 when a header's value is the name of another header", async () => {
    const session = await world.http2(host);
    const client = await openWebSocketOverHttp2(session, host, '/', { 'x-note': 'sec-websocket-key' });
    assert.ok(await client.echoes('hello'));
    session.destroy();
  });

  test('bytes that the client sends with its request arrive', async () => {
    const socket = await world.connect(host);
    const frame = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]).toString('latin1');
    const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;
    const answer = await rawExchange(socket, head + frame, { isEnough: (soFar) => soFar.endsWith('echo hi') });
    assert.match(answer.bytes, /^HTTP\/1\.1 101 [\s\S]*echo hi$/);
    socket.destroy();
  });

  test('a key that a service may read as another one reaches no service, whose answer would look like a failure', async () => {
    upstream.forget();
    const key = 'dGhlIHNhbXBsZSBub25jZQ==';
    const twice = [key, 'eGhlIHNhbXBsZSBub25jZQ=='];
    for (const keys of [twice, ['\xe9abc']]) {
      const lines = keys.map((each) => `Sec-WebSocket-Key: ${each}\r\n`).join('');
      const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`;
      const { bytes } = await rawExchange(await world.connect(host), `${head}${lines}\r\n`);
      assert.match(bytes, /^HTTP\/1\.1 400 [\s\S]*ERR_POSTERN_BAD_HTTP/);
    }
    const session = await world.http2(host);
    const stream = session.request([
      ...[':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https', ':authority', host, ':path', '/'],
      ...['sec-websocket-version', '13'],
      ...twice.flatMap((each) => ['sec-websocket-key', each]),
    ]);
    const [{ ':status': status }] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    assert.equal(status, 400);
    session.destroy();
    assert.deepEqual(upstream.seen, []);
  });

  test('data that the upstream sends before it closes arrives at a slow client', async () => {
    const socket = await world.connect(host);
    const client = await openWebSocket(socket, host);
    const end = ends.at(-1);
    client.stream.pause();
    for (let count = 0; count < 100; count += 1) end?.send('y'.repeat(60_000));
    end?.stream.end();
    let messages = 0;
    client.onMessage = () => {
      messages += 1;
    };
    await new Promise((resolve) => setTimeout(resolve, 200));
    client.stream.resume();
    await client.closed;
    assert.equal(messages, 100);
  });

  test("forwards an upstream's refusal, and the connection ends", async () => {
    const answered = upstream.onUpgrade;
    upstream.onUpgrade = (_request, socket) => {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    };
    const socket = await world.connect(host);
    const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\nGET /second HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const answer = await rawExchange(socket, head);
    upstream.onUpgrade = answered;
    assert.deepEqual(answer.statuses, [403]);
    assert.ok(answer.isClosed);
    assert.doesNotMatch(upstream.bytes, /second/);
  });

  test('a client that disconnects frees the upstream', async () => {
    const client = await openWebSocket(await world.connect(host), host);
    const end = ends.at(-1);
    client.stream.destroy();
    await end?.closed;
    const session = await world.http2(host);
    await openWebSocketOverHttp2(session, host);
    const second = ends.at(-1);
    session.destroy();
    await second?.closed;
  });
});
