import { constants, type Http2Stream } from 'node:http2';
import { addAbortSignal, Readable } from 'node:stream';
import { ignoreErrors } from '../guarded-listeners.ts';

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

/**
 * RST_STREAM with any code, to pass on the one that another peer sent. Only the runtime's native part can send it without
 * ending our side first; see `failStream`.
 *
 * In a later turn: for codes other than CANCEL the runtime first sends everything that waits on the session, which can
 * abort the process in an event of the same session; see `destroySession` and `cancelStream`.
 */
export function resetStream(stream: Http2Stream, code: number): void {
  setImmediate(resetNow, stream, code);
}

function resetNow(stream: Http2Stream, code: number): void {
  if (stream.destroyed) return;
  handleSymbol ??= Object.getOwnPropertySymbols(stream).find(({ description }) => description === 'kHandle');
  const native = handleSymbol === undefined ? undefined : (stream as unknown as NativeHolder)[handleSymbol];
  // It has no id yet, or none any longer.
  if (native === undefined) {
    stream.destroy(CANCELLED);
    return;
  }
  native.rstStream(code);
  // The runtime destroys a stream at once for every other code. With this one it waits for data that is never sent.
  if (code === constants.NGHTTP2_NO_ERROR) setImmediate(destroyNow, stream);
}

type NativeHolder = Readonly<Record<symbol, { rstStream(code: number): void } | undefined>>;
let handleSymbol: symbol | undefined;

function destroyNow(stream: Http2Stream): void {
  stream.destroy();
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
