import type { ServerHttp2Stream } from 'node:http2';
import { ignoreErrors, type ListenerOwner, listenOnce } from '../../lib/guarded-listeners.ts';
import { hasStreamEnd, watchStreamEnd } from '../../lib/http2-stream-end.ts';

/**
 * Calls `then` when a request that announces an empty body has really ended. Its head alone would be a complete request
 * for an upstream, but data or a reset may follow: the runtime then ends the stream, and `then` is never called.
 */
export function awaitEmptyEnd(stream: ServerHttp2Stream, owner: ListenerOwner, then: () => void): void {
  watchStreamEnd(stream);
  ignoreErrors(stream);
  listenOnce(stream, 'end', owner, () => {
    if (hasStreamEnd(stream) && !stream.destroyed) then();
  });
  stream.resume();
}
