import type { Http2Stream } from 'node:http2';
import { Readable } from 'node:stream';

const IS_ENDED = Symbol('END_STREAM was received');

interface Watched extends Http2Stream {
  [IS_ENDED]?: boolean;
}

/**
 * Enables `hasStreamEnd` for a stream. Call it as soon as the stream exists: after `request`, or in the `stream` event.
 *
 * The runtime emits `end` not only for END_STREAM but also when the peer resets the stream with NO_ERROR or CANCEL, or
 * closes the connection. It does not expose which it was: `rstCode` is 0 either way, `aborted` is set only while our
 * own side is open, and `state.remoteClose` is 0 at an end and 1 after a reset (Node 26.10). But for END_STREAM it
 * pushes the end of data before it closes the stream, and in all other cases after.
 */
export function watchStreamEnd(stream: Http2Stream): void {
  stream.push = push;
}

/** Whether the peer has marked its side as complete. Valid from the `end` event on. */
export function hasStreamEnd(stream: Http2Stream): boolean {
  return (stream as Watched)[IS_ENDED] === true;
}

/** One function for all streams: a closure each would cost time in every request. */
function push(this: Readable, chunk: unknown, encoding?: BufferEncoding): boolean {
  const stream = this as Watched;
  if (chunk === null && !stream.closed) stream[IS_ENDED] = true;
  return Readable.prototype.push.call(this, chunk, encoding);
}
