import type { ServerHttp2Stream } from 'node:http2';
import { guarded, ignoreErrors, type ListenerOwner, listenOnce } from '../../lib/guarded-listeners.ts';
import { hasStreamEnd, watchStreamEnd } from '../../lib/http2/stream-end.ts';

export interface EmptyEndOptions {
  readonly owner: ListenerOwner;
  /** The end belongs to the head, so it has as long as a head. */
  readonly timeoutMs: number;
  readonly onEnd: () => void;
  readonly onLate: () => void;
}

/**
 * Waits until a request that announces an empty body has really ended. Its head alone would be a complete request for an
 * upstream, but data or a reset may follow: the runtime then ends the stream, and nothing is called.
 */
export function awaitEmptyEnd(stream: ServerHttp2Stream, { owner, timeoutMs, onEnd, onLate }: EmptyEndOptions): void {
  let isLate = false;
  const onTimeout = guarded(owner, () => {
    isLate = true;
    if (!stream.destroyed) onLate();
  });
  const timer = setTimeout(onTimeout, timeoutMs).unref();
  watchStreamEnd(stream);
  ignoreErrors(stream);
  listenOnce(stream, 'end', owner, () => {
    clearTimeout(timer);
    if (!isLate && hasStreamEnd(stream) && !stream.destroyed) onEnd();
  });
  listenOnce(stream, 'close', owner, () => clearTimeout(timer));
  stream.resume();
}
