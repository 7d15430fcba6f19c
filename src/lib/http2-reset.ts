import type { Http2Stream } from 'node:http2';
import { addAbortSignal, Readable } from 'node:stream';
import { ignoreErrors } from './guarded-listeners.ts';

const BROKEN = new Error('the message was truncated');
const CANCELLED = runtimeAbortError();

/**
 * RST_STREAM with INTERNAL_ERROR: our message cannot be completed.
 *
 * `close(code)` does not work here: it ends our side first, so that END_STREAM is sent before the reset or, when that
 * closes the stream, instead of it (Node 26.10). The peer would mistake a part for the whole.
 */
export function failStream(stream: Http2Stream): void {
  stream.destroy(BROKEN);
}

/**
 * RST_STREAM with CANCEL: nobody needs the exchange. Our side is not ended; see `failStream`.
 *
 * A stream with `waitForTrailers` that is ended and destroyed with CANCEL in one event of its session aborts the
 * process: the runtime still asks the destroyed stream for trailers ("Assertion failed: !this->is_destroyed()" in
 * `Http2Stream::OnTrailers`, Node 26.10). So a stream that has ended is destroyed in a later turn. Its message was
 * complete.
 */
export function cancelStream(stream: Http2Stream): void {
  if (stream.writableEnded) setImmediate(destroyCancelled, stream);
  else stream.destroy(CANCELLED);
}

function destroyCancelled(stream: Http2Stream): void {
  stream.destroy(CANCELLED);
}

/** The runtime destroys a stream with CANCEL only for an error of a class that it does not export. */
function runtimeAbortError(): Error {
  const controller = new AbortController();
  const any = ignoreErrors(new Readable());
  addAbortSignal(controller.signal, any);
  controller.abort();
  return any.errored ?? BROKEN;
}
