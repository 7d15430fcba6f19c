import { EventEmitter } from 'node:events';
import { constants, type Http2Stream } from 'node:http2';
import { addAbortSignal, Readable } from 'node:stream';
import { ignoreErrors, type ListenerOwner } from '../guarded-listeners.ts';

const IS_ENDED = Symbol('END_STREAM was received');

const READER = Symbol('learns about unread data');

const COUNTER = Symbol('learns about every piece');

/** A piece that is at least this part of its buffer is not copied. */
const LARGE_PART = 7 / 8;

/** Reads a request, whose data nobody needs once the stream has closed. */
export interface RequestReader {
  /** Data has arrived, and was not read at once. */
  onUnread(bytes: number): void;
}

export interface PieceCounter {
  /** A piece of data has arrived: a frame, or a part of one. */
  onPiece(bytes: number): void;
}

interface Watched extends Http2Stream {
  [IS_ENDED]?: boolean;
  [COUNTER]?: PieceCounter;
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
 * Reports unread data of a watched stream, and ends it as soon as it has closed. After a reset with NO_ERROR the
 * runtime waits until everything that arrived before is read. A request that waits for its upstream is paused, so it
 * would outlive its client, with its place among the streams of the session.
 */
export function readBy(stream: Http2Stream, reader: RequestReader): void {
  (stream as Watched)[READER] = reader;
}

/** Reports each piece of data of a watched stream. */
export function countPieces(stream: Http2Stream, counter: PieceCounter): void {
  (stream as Watched)[COUNTER] = counter;
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
  if (chunk !== null) stream[COUNTER]?.onPiece((chunk as Buffer).length);
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
 * RST_STREAM with any code, to pass on the one that another peer sent. Only the runtime's native part can send it
 * without ending our side first; see `failStream`.
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
  // The stream has no id yet, or none any longer.
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

/** Receives everything of a stream. What it throws goes to `contain`. */
export interface StreamTaker extends ListenerOwner {
  /** False: the event goes on to the stream's listeners. */
  onEvent(stream: Http2Stream, event: string | symbol, first: unknown, second: unknown, third: unknown): boolean;
  /** False: no more until `readMore`, except what the peer's window still allows. */
  onData(stream: Http2Stream, chunk: Buffer): boolean;
  /**
   * END_STREAM has arrived. After a reset or a lost connection there is only the event `close`. May be called twice.
   */
  onEnd(stream: Http2Stream): void;
}

const TAKER = Symbol('taker');

interface Taken extends Http2Stream {
  [TAKER]: StreamTaker;
}

/**
 * Gives a stream to one owner, without listeners and without the runtime's buffer for readers: each listener emits an
 * event of its own when it is attached, and each chunk passes through a queue and two ticks. Figures of the hop that
 * uses it: bench/cluster/README.md. Call it as soon as the stream exists: after `request`, or in the `stream` event.
 */
export function takeStream(stream: Http2Stream, taker: StreamTaker): void {
  if (stream.readableLength > 0) throw new Error('data has arrived before the stream was taken');
  const taken = stream as Taken;
  taken[TAKER] = taker;
  taken.emit = emit;
  taken.push = pushTaken;
}

/** Undefined: the stream was not taken. */
export function takerOf(stream: Http2Stream): StreamTaker | undefined {
  return (stream as Partial<Taken>)[TAKER];
}

/** Starts reading, and continues after `onData` has returned false. */
export function readMore(stream: Http2Stream): void {
  // `read` and `resume` follow the state of the buffer, which is not used.
  stream._read(0);
}

/** One function for all streams, like `push`: a closure each would cost time in every request. */
function emit(this: EventEmitter, event: string | symbol, first?: unknown, second?: unknown, third?: unknown): boolean {
  // The runtime only counts listeners of events that a taken stream does not have.
  if (event === 'newListener') return false;
  const taken = this as Taken;
  try {
    if (taken[TAKER].onEvent(taken, event, first, second, third)) return true;
  } catch (error) {
    taken[TAKER].contain(error);
    return true;
  }
  return EventEmitter.prototype.emit.call(this, event, first, second, third);
}

/** For END_STREAM the runtime pushes the end of data before it closes the stream; see `watchStreamEnd`. */
function pushTaken(this: Readable, chunk: unknown): boolean {
  const taken = this as Readable as Taken;
  try {
    if (chunk !== null) return taken[TAKER].onData(taken, chunk as Buffer);
    if (!taken.closed) taken[TAKER].onEnd(taken);
  } catch (error) {
    taken[TAKER].contain(error);
  }
  // The runtime closes a stream only after its reader has seen the end.
  return chunk !== null || Readable.prototype.push.call(this, null);
}
