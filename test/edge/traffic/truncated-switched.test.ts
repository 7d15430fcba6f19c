// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, afterEach, suite, test } from 'node:test';
import { FLAG, FRAME, frame, headerBlock, resetFrame } from '../../support/http2-frames.ts';
import { type ClientProtocol, type RawPath, RawPaths } from '../../support/raw-paths.ts';
import { RawPeer } from '../../support/raw-peer.ts';
import { RawUpstream } from '../../support/raw-upstream.ts';

const world = await RawPaths.open({ after });
const STREAM = 1;
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

interface Ends {
  readonly client: RawPeer;
  readonly service: RawPeer;
}

afterEach(() => world.disconnect());

/** A WebSocket after its handshake. */
async function openWebSocket(path: RawPath, protocol: ClientProtocol): Promise<Ends> {
  const arriving = path.upstream.next();
  const client = await world.client(path, protocol);
  if (protocol === 'http/1.1') {
    client.send(
      `GET /ws HTTP/1.1\r\nhost: ${path.host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${KEY}\r\n\r\n`,
    );
  } else {
    const fields = [
      [':method', 'CONNECT'],
      [':protocol', 'websocket'],
      [':scheme', 'https'],
      [':path', '/ws'],
      [':authority', path.host],
      ['sec-websocket-version', '13'],
      ['sec-websocket-key', KEY],
    ] as const;
    client.send(frame(FRAME.headers, FLAG.endHeaders, STREAM, headerBlock(fields)));
  }
  const service = await arriving;
  await service.until(({ received }) => received.endsWith('\r\n\r\n'), 'the handshake is there');
  const accept = `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${ACCEPT}\r\n`;
  service.send(`HTTP/1.1 101 Switching Protocols\r\n${accept}\r\nhello`);
  await client.until((peer) => heardBy(peer).includes('hello'), 'the service is heard');
  say(client, 'greetings');
  await service.until((peer) => heardBy(peer).includes('greetings'), 'the client is heard');
  return { client, service };
}

/** A connection to a tcp tunnel. */
async function openRaw(): Promise<Ends> {
  const upstream = await RawUpstream.open({ after }, { protocol: 'http/1.1' });
  const agent = await world.world.agent([{ proto: 'tcp', addr: upstream.port }]);
  const arriving = upstream.next();
  const port = Number((agent.publicUrl ?? '').split(':').at(-1));
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const client = new RawPeer(socket, socket, null);
  client.send('greetings');
  const service = await arriving;
  await service.until((peer) => heardBy(peer).includes('greetings'), 'the client is heard');
  service.send('hello');
  await client.until((peer) => heardBy(peer).includes('hello'), 'the service is heard');
  return { client, service };
}

function heardBy({ http2, received }: RawPeer): string {
  return http2 === null ? received : http2.data(STREAM).toString();
}

function say(peer: RawPeer, text: string): void {
  peer.send(peer.http2 === null ? text : frame(FRAME.data, 0, STREAM, text));
}

function endSide(peer: RawPeer): void {
  if (peer.http2 === null) peer.fin();
  else peer.send(frame(FRAME.data, FLAG.endStream, STREAM));
}

function hasEnd(peer: RawPeer): boolean {
  return peer.http2 === null ? peer.hasFin : peer.http2.hasEnd(STREAM);
}

const [http1, , tunnelled] = world.paths as [RawPath, RawPath, RawPath];
const WAYS: Readonly<Record<string, () => Promise<Ends>>> = {
  'a WebSocket over HTTP/1.1': () => openWebSocket(http1, 'http/1.1'),
  'a WebSocket over HTTP/2': () => openWebSocket(http1, 'h2'),
  'a WebSocket over HTTP/1.1 through a tunnel': () => openWebSocket(tunnelled, 'http/1.1'),
  'a WebSocket over HTTP/2 through a tunnel': () => openWebSocket(tunnelled, 'h2'),
  'a connection to a tcp tunnel': openRaw,
};

for (const [way, open] of Object.entries(WAYS)) {
  suite(way, () => {
    test('continues in one direction after the client has ended the other', async () => {
      const { client, service } = await open();
      endSide(client);
      await service.until(hasEnd, 'the end of the client is there');
      service.send('and more');
      await client.until((peer) => heardBy(peer).includes('and more'), 'the service is still heard');
      service.fin();
      await client.until(hasEnd, 'the end of the service is there');
    });

    test('continues in one direction after the service has ended the other', async () => {
      const { client, service } = await open();
      service.fin();
      await client.until(hasEnd, 'the end of the service is there');
      say(client, 'and more');
      await service.until((peer) => heardBy(peer).includes('and more'), 'the client is still heard');
      endSide(client);
      await service.until(hasEnd, 'the end of the client is there');
    });

    test('is reset at the service when the client resets the connection', async () => {
      const { client, service } = await open();
      client.reset();
      await service.until(({ isClosed }) => isClosed, 'the connection is closed');
      assert.equal(service.hasFin, false);
    });

    test('is broken off at the client when the service resets the connection', async () => {
      const { client, service } = await open();
      service.reset();
      const { http2 } = client;
      if (http2 === null) await client.until(({ hasFin, isClosed }) => hasFin || isClosed, 'the connection is closed');
      else {
        await client.until(() => http2.resetCode(STREAM) !== null || http2.hasEnd(STREAM), 'the stream is over');
        assert.equal(http2.hasEnd(STREAM), false);
        assert.notEqual(http2.resetCode(STREAM), 0);
      }
      // Over TLS the sign is a missing close_notify, which the runtime's clients do not expose.
      if (way === 'a connection to a tcp tunnel') assert.equal(client.hasFin, false);
    });

    if (!way.includes('HTTP/2')) return;
    for (const code of [0, 8]) {
      test(`is reset at the service when the client resets its stream with ${code}`, async () => {
        const { client, service } = await open();
        client.send(resetFrame(STREAM, code));
        await service.until(({ isClosed }) => isClosed, 'the connection is closed');
        assert.equal(service.hasFin, false);
      });
    }
  });
}
