import { EventEmitter } from 'node:events';
import type { Http2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import type { ListenerOwner } from '../guarded-listeners.ts';

/** Receives everything of a stream. What it throws goes to `contain`. */
export interface StreamTaker extends ListenerOwner {
  /** False: the event goes on to the stream's listeners. */
  onEvent(stream: Http2Stream, event: string | symbol, first: unknown, second: unknown, third: unknown): boolean;
  /** False: no more until `readMore`, except what the peer's window still allows. */
  onData(stream: Http2Stream, chunk: Buffer): boolean;
  /** END_STREAM has arrived. After a reset or a lost connection there is only the event `close`. May be called twice. */
  onEnd(stream: Http2Stream): void;
}

const TAKER = Symbol('taker');

interface Taken extends Http2Stream {
  [TAKER]: StreamTaker;
}

/**
 * Gives a stream to one owner, without listeners and without the runtime's buffer for readers: each listener emits an
 * event of its own when it is attached, and each chunk passes through a queue and two ticks. Figures of the hop that uses
 * it: bench/cluster/README.md. Call it as soon as the stream exists: after
 * `request`, or in the `stream` event.
 */
export function takeStream(stream: Http2Stream, taker: StreamTaker): void {
  if (stream.readableLength > 0) throw new Error('data has arrived before the stream was taken');
  const taken = stream as Taken;
  taken[TAKER] = taker;
  taken.emit = emit;
  taken.push = push;
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
function push(this: Readable, chunk: unknown): boolean {
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
