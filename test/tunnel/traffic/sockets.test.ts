import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { after, suite, test } from 'node:test';
import { createGunzip } from 'node:zlib';
import { EventSource, type FetchLike } from 'eventsource';
import { type ClientOptions, WebSocket } from 'ws';
import { webSocketUpstream } from '../../edge/clients/web-socket-upstream.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays, toLoopback } from './ways.ts';

const sockets = await webSocketUpstream({ after });
const events = await recordingUpstream({ after });
const world = await TunnelWorld.open({ after });
const socketWays = await bothWays(world, { addr: sockets.address });
const eventWays = await bothWays(world, { addr: events.address });

for (const { name, url } of socketWays) {
  const open = async (protocols: string[] = [], options: ClientOptions = {}): Promise<WebSocket> => {
    const address = `${url.replace('https', 'wss')}/chat?room=1`;
    const client = new WebSocket(address, protocols, { ca: [...world.edge.ca], lookup: toLoopback, ...options });
    await once(client, 'open');
    return client;
  };
  const message = async (client: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> => {
    const [data, isBinary] = await once(client, 'message');
    return { data, isBinary };
  };
  const end = (): WebSocket => sockets.sockets.at(-1) ?? assert.fail();

  suite(`ws through ${name}`, () => {
    test('text and binary, both ways, in fragments too, with pings between', async () => {
      const client = await open([], { perMessageDeflate: false });
      client.send('gr\u00fc\u00dfe');
      assert.deepEqual(await message(client), { data: Buffer.from('gr\u00fc\u00dfe'), isBinary: false });
      const bytes = randomBytes(3000);
      client.send(bytes);
      assert.deepEqual(await message(client), { data: bytes, isBinary: true });
      client.send('one ', { fin: false });
      client.ping('still there?');
      assert.equal(String((await once(client, 'pong'))[0]), 'still there?');
      client.send('two', { fin: true });
      assert.equal(String((await message(client)).data), 'one two');
      end().ping('and you?');
      assert.equal(String((await once(end(), 'pong'))[0]), 'and you?');
      client.close();
      await once(client, 'close');
    });

    test('a message of 8 MiB, compressed and not', async () => {
      for (const perMessageDeflate of [false, true]) {
        const client = await open([], { perMessageDeflate });
        assert.equal(client.extensions, perMessageDeflate ? 'permessage-deflate' : '');
        const bytes = randomBytes(8 << 20);
        client.send(bytes);
        assert.ok(bytes.equals((await message(client)).data));
        client.terminate();
      }
    });

    test('close codes and reasons from either side, and the subprotocol that the service chose', async () => {
      const first = await open(['first', 'second']);
      assert.equal(first.protocol, 'second');
      const closed = once(end(), 'close');
      first.close(4001, 'bye');
      const [code, reason] = await closed;
      assert.deepEqual([code, String(reason)], [4001, 'bye']);
      const second = await open();
      const closedHere = once(second, 'close');
      end().close(1012, 'restart');
      const [codeHere, reasonHere] = await closedHere;
      assert.deepEqual([codeHere, String(reasonHere)], [1012, 'restart']);
    });

    test('a side that goes without a word is noticed by the other', async () => {
      const first = await open();
      const closed = once(end(), 'close');
      first.terminate();
      assert.equal((await closed)[0], 1006);
      const second = await open();
      const closedHere = once(second, 'close');
      end().terminate();
      assert.equal((await closedHere)[0], 1006);
    });
  });
}

interface Stream {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The stream that the service has with the next client. */
function nextStream(): Promise<Stream> {
  return new Promise((resolve) => {
    events.answer = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.flushHeaders();
      resolve({ request, response });
    };
  });
}

/** fetch() of the runtime trusts no authority of ours. */
function fetchOf(host: string): FetchLike {
  return async (url, { headers, signal }) => {
    const sent = requestHttps({
      ...world.edge.tlsOptions(host),
      agent: false,
      path: new URL(url).pathname,
      headers: { ...headers, host, 'accept-encoding': 'gzip' },
      signal: signal as AbortSignal,
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const isCompressed = response.headers['content-encoding'] === 'gzip';
    const body = isCompressed ? pipeline(response, createGunzip(), () => {}) : response;
    for (const stream of [sent, response, body]) stream.on('error', () => {});
    return {
      body: Readable.toWeb(body) as never,
      url: String(url),
      status: response.statusCode ?? 0,
      redirected: false,
      headers: new Headers({ 'content-type': response.headers['content-type'] ?? '' }),
    };
  };
}

function nextMessage(source: EventSource): Promise<MessageEvent> {
  return new Promise((resolve) => source.addEventListener('message', resolve, { once: true }));
}

for (const { name, host } of eventWays) {
  suite(`EventSource through ${name}`, () => {
    test('each event arrives before the next is written, and the service notices the end', async () => {
      const accepted = nextStream();
      const source = new EventSource(`https://${host}/events`, { fetch: fetchOf(host) });
      const { request, response } = await accepted;
      for (let n = 0; n < 20; n += 1) {
        const arrived = nextMessage(source);
        response.write(`id: ${n}\ndata: event ${n}\n\n`);
        const { data, lastEventId } = await arrived;
        assert.deepEqual([data, lastEventId], [`event ${n}`, String(n)]);
      }
      const left = once(request.socket, 'close');
      source.close();
      await left;
    });

    test('it reconnects with the id of the last event, when the service ends or breaks off', async () => {
      let accepted = nextStream();
      const source = new EventSource(`https://${host}/events`, { fetch: fetchOf(host) });
      let stream = await accepted;
      for (const [id, finish] of [
        ['a-1', () => stream.response.end()],
        ['a-2', () => stream.request.socket.destroy()],
      ] as const) {
        const arrived = nextMessage(source);
        stream.response.write(`retry: 20\nid: ${id}\ndata: x\n\n`);
        await arrived;
        accepted = nextStream();
        finish();
        stream = await accepted;
        assert.equal(stream.request.headers['last-event-id'], id);
      }
      source.close();
    });
  });
}
