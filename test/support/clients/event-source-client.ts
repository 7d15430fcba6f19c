import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import type { EventSource, FetchLike } from 'eventsource';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import type { EdgeClients } from '../edge-clients.ts';

const DECODERS = { gzip: createGunzip, br: createBrotliDecompress, zstd: createZstdDecompress } as const;

export type EventCoding = 'identity' | keyof typeof DECODERS;

/** The codings that a client accepts, and the one that it must get. */
export interface Codings {
  readonly accepted: EventCoding;
  readonly used: EventCoding;
}

/** The runtime's fetch() does not trust our authority; this one does, and decodes like a browser's. */
export function fetchThrough(edge: EdgeClients, host: string, { accepted, used }: Codings): FetchLike {
  return async (url, { headers, signal }) => {
    const { pathname, search } = new URL(url);
    const sent = requestHttps({
      ...edge.tlsOptions(host),
      agent: false,
      path: pathname + search,
      headers: { ...headers, host, 'accept-encoding': accepted },
      signal: signal as AbortSignal,
    });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(response.headers['content-encoding'], used === 'identity' ? undefined : used);
    const body = used === 'identity' ? response : pipeline(response, DECODERS[used](), () => {});
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

export interface EventStream {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The upstream's stream with the next client. */
export function nextStream(upstream: RecordingUpstream): Promise<EventStream> {
  return new Promise((resolve) => {
    upstream.answer = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      response.flushHeaders();
      resolve({ request, response });
    };
  });
}

export function nextMessage(source: EventSource): Promise<MessageEvent> {
  return new Promise((resolve) => source.addEventListener('message', resolve, { once: true }));
}
