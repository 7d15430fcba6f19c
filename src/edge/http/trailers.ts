import type { ServerHttp2Stream } from 'node:http2';
import { listen } from '../../lib/guarded-listeners.ts';
import type { HeaderList } from '../../lib/http/header-values.ts';
import type { DroppedHeaders } from './dropped-headers.ts';
import { areTrailersTooLarge, type HeadLimits } from './head-size.ts';
import type { Http2ResponseWriter } from './http2-response-writer.ts';
import { TOO_LARGE } from './request-problem.ts';

/** Collects the trailers of a request; call the result after its body. Trailers that are too large end the request. */
export function trailersOf(
  stream: ServerHttp2Stream,
  writer: Http2ResponseWriter,
  dropped: DroppedHeaders,
  limits: HeadLimits,
): () => HeaderList {
  let trailers: HeaderList = [];
  listen(stream, 'trailers', writer, (_fields: unknown, _flags: number, raw: readonly string[]) => {
    if (areTrailersTooLarge(raw, limits)) writer.onGone(TOO_LARGE);
    else trailers = dropped.forwardableTrailers(raw, writer.method);
  });
  return () => trailers;
}
