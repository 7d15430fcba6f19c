import type { ServerHttp2Stream } from 'node:http2';
import { listen } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/header-list.ts';
import type { DroppedHeaders } from './dropped-headers.ts';
import type { Http2Client } from './http2-client.ts';

/** Collects the trailers of a request; call the result after its body. */
export function trailersOf(
  stream: ServerHttp2Stream,
  client: Http2Client,
  dropped: DroppedHeaders,
  method: string,
): () => HeaderList {
  let trailers: HeaderList = [];
  listen(stream, 'trailers', client, (_fields: unknown, _flags: number, rawTrailers: readonly string[]) => {
    trailers = dropped.forwardableTrailers(rawTrailers, method);
  });
  return () => trailers;
}
