import type { Http2Stream } from 'node:http2';
import { guarded, reportBug, reporting } from '../../../kit/guarded-listeners.ts';
import { narrowedWindow } from '../../../kit/http2/session-windows.ts';
import { readMore, type StreamTaker, takeStream } from '../../../kit/http2/stream-end.ts';
import { waits } from '../../../kit/net/waiting-bytes.ts';
import {
  ChannelViolation,
  CREDIT,
  END,
  type FrameHandler,
  FrameReader,
  HEAD_NUMBER_BYTES,
  INFORMATIONAL,
  NODE,
  NUMBER_BYTES,
  RESET,
  RESPONSE,
} from './channel-frames.ts';
import { ChannelOutput } from './channel-output.ts';
import { type ChannelStream, type ChannelView, TURN_BYTES } from './channel-stream.ts';

export interface ChannelOwner {
  /** Unread data that the channel may hold. Absent: as much as a connection to an agent. */
  readonly budgetBytes?: number | undefined;
  /** The connection must be closed. All methods except `onReleased` are called in a turn of their own. */
  onBroken(why: string, isViolation: boolean): void;
  /** Called once. */
  onClosed(): void;
  /** An exchange is over. `place` is the one that it was given, or -1. */
  onReleased(place: number): void;
}

const OWNER = reporting('channel between nodes');

/**
 * Requests of one node for agents of another node, and the responses, as frames inside one HTTP/2 stream. Both nodes
 * read the stream without a pause; each exchange has its own flow control.
 */
export abstract class Channel implements StreamTaker, FrameHandler, ChannelView {
  readonly output: ChannelOutput;
  protected readonly stream: Http2Stream;
  protected readonly owner: ChannelOwner;
  readonly #reader = new FrameReader(this);
  readonly #streams = new Map<number, ChannelStream>();
  readonly #waiting = new Set<ChannelStream>();
  /** Parts of responses that wait for their clients. */
  #heldBytes = 0;
  #isClosed = false;
  #isEnded = false;
  #isBroken = false;

  /** Takes the stream. */
  constructor(stream: Http2Stream, owner: ChannelOwner) {
    this.stream = stream;
    this.owner = owner;
    this.output = new ChannelOutput(stream, this);
    takeStream(stream, this);
  }

  /** Exchanges in progress. */
  get size(): number {
    return this.#streams.size;
  }

  /** Whether no exchange is in progress, and no frames of earlier exchanges wait. */
  get isIdle(): boolean {
    return this.#streams.size === 0 && !this.output.hasUnsent;
  }

  /** Whether this node sends nothing more. */
  protected get isEnded(): boolean {
    return this.#isEnded || this.#isBroken || this.#isClosed;
  }

  get windowBytes(): number {
    return narrowedWindow(this.#streams.size, this.#heldBytes, this.owner.budgetBytes);
  }

  held(bytes: number): void {
    this.#heldBytes += bytes;
    waits(bytes);
  }

  await(stream: ChannelStream): void {
    this.#waiting.add(stream);
    this.#pump();
  }

  leave(stream: ChannelStream): void {
    this.#waiting.delete(stream);
    if (this.#streams.delete(stream.id)) this.owner.onReleased(stream.place);
  }

  /** Ends the channel after the last exchange. */
  end(): void {
    this.#isEnded = true;
    this.output.flush();
    if (this.stream.writable) this.stream.end();
  }

  contain(error: unknown): void {
    if (this.#isClosed || this.#isBroken) return;
    const isViolation = error instanceof ChannelViolation;
    if (!isViolation) reportBug(error, { part: 'channel between nodes' });
    this.broken(isViolation ? error.message : 'this node has an internal error', isViolation);
  }

  onEvent(_stream: Http2Stream, event: string | symbol, head: unknown): boolean {
    switch (event) {
      case 'response':
        this.onAccepted(Number((head as Readonly<Record<string, unknown>>)[':status']));
        return true;
      case 'drain':
        this.output.drained();
        this.#pump();
        return true;
      case 'close':
        this.#onClose();
        return true;
      default:
        // An error is followed by `close`.
        return event === 'error';
    }
  }

  onData(_stream: Http2Stream, chunk: Buffer): boolean {
    if (!this.#isClosed && !this.#isBroken) this.#reader.read(chunk);
    return true;
  }

  onEnd(): void {
    this.end();
  }

  onFrame(type: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isClosed || this.#isBroken) return;
    const stream = this.#streams.get(id);
    if (stream === undefined) this.onOther(type, id, bytes, start, end);
    else this.#deliver(stream, type, bytes, start, end);
  }

  onChunk(id: number, chunk: Buffer): void {
    if (this.#isClosed || this.#isBroken) return;
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      this.assertKnown(id);
      return;
    }
    try {
      stream.received(chunk);
    } catch (error) {
      containIn(stream, error);
    }
  }

  /** The status with which the other node has answered the stream. */
  protected abstract onAccepted(status: number): void;
  /** A frame of an exchange that is over, or of no exchange. */
  protected abstract onOther(type: number, id: number, bytes: Buffer, start: number, end: number): void;
  /** Throws for a number that no exchange has had. */
  protected abstract assertKnown(id: number): void;

  /** The owner closes the connection in a turn of its own: not while a chunk of the connection is being read. */
  protected broken(why: string, isViolation: boolean): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    setImmediate(guarded(OWNER, () => this.owner.onBroken(why, isViolation)));
  }

  protected start(): void {
    readMore(this.stream);
  }

  protected add(stream: ChannelStream): void {
    this.#streams.set(stream.id, stream);
  }

  #deliver(stream: ChannelStream, type: number, bytes: Buffer, start: number, end: number): void {
    try {
      switch (type) {
        case INFORMATIONAL:
        case RESPONSE:
          stream.onHead(type, ...headIn(bytes, start, end));
          break;
        case END:
          stream.onSendersEnd(bytes.toString('latin1', start, end));
          break;
        case RESET:
          stream.onReset(numberIn(bytes, start, end));
          break;
        case NODE:
          stream.onNode(bytes.toString('latin1', start, end));
          break;
        case CREDIT:
          stream.credited(numberIn(bytes, start, end));
          break;
        default:
          this.onOther(type, stream.id, bytes, start, end);
      }
    } catch (error) {
      containIn(stream, error);
    }
  }

  #pump(): void {
    for (const stream of this.#waiting) {
      if (this.output.isFull) return;
      this.#waiting.delete(stream);
      try {
        stream.sendQueued(TURN_BYTES);
      } catch (error) {
        containIn(stream, error);
      }
      // The stream goes to the end, after the other streams.
      if (stream.isSendable) this.#waiting.add(stream);
    }
  }

  #onClose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waiting.clear();
    for (const stream of [...this.#streams.values()]) {
      try {
        stream.onLost();
      } catch (error) {
        stream.contain(error);
      }
    }
    setImmediate(guarded(OWNER, () => this.owner.onClosed()));
  }
}

/** Contains an error in its exchange. Other exchanges are not affected. */
function containIn(stream: ChannelStream, error: unknown): void {
  if (error instanceof ChannelViolation) throw error;
  stream.contain(error);
}

export function headIn(bytes: Buffer, start: number, end: number): [number: number, text: string] {
  if (end - start < HEAD_NUMBER_BYTES) throw new ChannelViolation('a head without its number');
  return [bytes.readUInt16BE(start), bytes.toString('latin1', start + HEAD_NUMBER_BYTES, end)];
}

function numberIn(bytes: Buffer, start: number, end: number): number {
  if (end - start !== NUMBER_BYTES) throw new ChannelViolation(`a number of ${end - start} bytes`);
  return bytes.readUInt32BE(start);
}
