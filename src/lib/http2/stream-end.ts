import type { Http2Stream } from 'node:http2';
import { Readable } from 'node:stream';

const IS_ENDED = Symbol('END_STREAM was received');

const READER = Symbol('learns about unread data');

/** A piece that is at least this part of its buffer is not copied. */
const LARGE_PART = 7 / 8;

/** Reads a request, whose data nobody needs once the stream has closed. */
export interface RequestReader {
  /** Data has arrived, and was not read at once. */
  onUnread(bytes: number): void;
}

interface Watched extends Http2Stream {
  [IS_ENDED]?: boolean;
  [READER]?: RequestReader;
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

/**
 * Reports unread data of a watched stream, and ends it as soon as it has closed. After a reset with NO_ERROR the runtime waits until everything that
 * arrived before is read. A request that waits for its upstream is paused, so it would outlive its client, with its
 * place among the streams of the session.
 */
export function readBy(stream: Http2Stream, reader: RequestReader): void {
  (stream as Watched)[READER] = reader;
}

/** Whether the peer has marked its side as complete. Valid from the `end` event on. */
export function hasStreamEnd(stream: Http2Stream): boolean {
  return (stream as Watched)[IS_ENDED] === true;
}

/** One function for all streams: a closure each would cost time in every request. */
function push(this: Readable, chunk: unknown, encoding?: BufferEncoding): boolean {
  const stream = this as Watched;
  if (chunk === null && !stream.closed) stream[IS_ENDED] = true;
  // In a later turn: the runtime uses the stream after this call.
  else if (chunk === null && stream[READER] !== undefined && !stream.destroyed) process.nextTick(destroy, stream);
  const reader = stream[READER];
  if (reader === undefined || !Buffer.isBuffer(chunk)) return Readable.prototype.push.call(this, chunk, encoding);
  // The first that waits is most often read soon.
  const hasRoom = Readable.prototype.push.call(this, this.readableLength > 0 ? alone(chunk) : chunk);
  if (this.readableLength > 0) reader.onUnread(chunk.length);
  return hasRoom;
}

/**
 * Data that does not keep much else alive. The runtime's pieces are parts of what it read from the socket, up to 16 KB,
 * with frames of other streams in it: a single byte that waits would keep all of that.
 */
function alone(chunk: Buffer): Buffer {
  if (chunk.length >= chunk.buffer.byteLength * LARGE_PART) return chunk;
  // Without the pool, which is shared as well.
  const copy = Buffer.allocUnsafeSlow(chunk.length);
  chunk.copy(copy);
  return copy;
}

function destroy(stream: Http2Stream): void {
  stream.destroy();
}
