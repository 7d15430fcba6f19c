import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { after, afterEach, suite, test } from 'node:test';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import { EventSource, type FetchLike } from 'eventsource';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host, routePath } = await world.site(await world.staticBackend(upstream.address));
const DECODERS = { gzip: createGunzip, br: createBrotliDecompress, zstd: createZstdDecompress } as const;
const COUNT = 20;

/** fetch() of the runtime trusts no authority of ours; this one does, and decodes as a browser's would. */
function fetchAccepting(coding: string): FetchLike {
  return async (url, { headers, signal }) => {
    const { pathname, search } = new URL(url);
    const sent = requestHttps({
      ...world.tlsOptions(host),
      agent: false,
      path: pathname + search,
      headers: { ...headers, host, 'accept-encoding': coding },
      signal: signal as AbortSignal,
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const used = response.headers['content-encoding'];
    assert.equal(used, coding === 'identity' ? undefined : coding);
    const body =
      used === undefined ? response : pipeline(response, DECODERS[used as keyof typeof DECODERS](), () => {});
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

interface Stream {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The stream that the upstream has with the next client. */
function nextStream(): Promise<Stream> {
  return new Promise((resolve) => {
    upstream.answer = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.flushHeaders();
      resolve({ request, response });
    };
  });
}

function nextMessage(source: EventSource): Promise<MessageEvent> {
  return new Promise((resolve) => source.addEventListener('message', resolve, { once: true }));
}

afterEach(() => {
  upstream.answer = null;
});

suite('EventSource through the edge', () => {
  for (const coding of ['identity', 'gzip', 'br', 'zstd']) {
    test(`each event arrives before the next is written: ${coding}`, async () => {
      if (coding !== 'identity') await world.api('PUT', `${routePath}/compression`, {});
      const accepted = nextStream();
      const source = new EventSource(`https://${host}/events`, { fetch: fetchAccepting(coding) });
      const { request, response } = await accepted;
      await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
      for (let n = 0; n < COUNT; n += 1) {
        const arrived = nextMessage(source);
        response.write(`id: ${n}\ndata: event ${n}\ndata: second line\n\n`);
        const { data, lastEventId } = await arrived;
        assert.deepEqual([data, lastEventId], [`event ${n}\nsecond line`, String(n)]);
      }
      const left = once(request.socket, 'close');
      source.close();
      await left;
    });
  }

  test('it reconnects with the id of the last event, when the upstream ends or breaks off', async () => {
    let accepted = nextStream();
    const source = new EventSource(`https://${host}/events`, { fetch: fetchAccepting('gzip') });
    let stream = await accepted;
    assert.equal(stream.request.headers['last-event-id'], undefined);
    for (const [id, end] of [
      ['a-1', () => stream.response.end()],
      ['a-2', () => stream.request.socket.destroy()],
    ] as const) {
      const arrived = nextMessage(source);
      stream.response.write(`retry: 20\nid: ${id}\ndata: x\n\n`);
      await arrived;
      accepted = nextStream();
      end();
      stream = await accepted;
      assert.equal(stream.request.headers['last-event-id'], id);
    }
    source.close();
  });
});
