import { ChannelViolation, CREDIT, END, MAX_CREDIT_BYTES, NODE, RESET } from './channel-frames.ts';
import type { ChannelOutput } from './channel-output.ts';

/** Smaller chunks are joined: each object takes a hundred bytes of memory, and an agent may send single bytes. */
const JOINED_BYTES = 1_024;
const SLAB_BYTES = 16_384;
/** Taken chunks are removed from the list in steps: removing them one by one would take quadratic time. */
const REMOVED_AT_ONCE = 256;

/** Bytes that wait, in order. */
export class ChunkQueue {
  #chunks: Buffer[] = [];
  #first = 0;
  #bytes = 0;
  /** The last chunk is the start of this slab, up to `#slabBytes`. */
  #slab: Buffer | null = null;
  #slabBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#bytes += chunk.length;
    if (chunk.length < JOINED_BYTES) this.#join(chunk);
    else {
      this.#slab = null;
      this.#chunks.push(chunk);
    }
  }

  /** The next bytes, at most `maxBytes`; null when there are none. */
  take(maxBytes: number): Buffer | null {
    const chunk = this.#chunks[this.#first];
    if (chunk === undefined) return null;
    // The rest of the last chunk is no longer the start of the slab.
    if (this.#first === this.#chunks.length - 1) this.#slab = null;
    const taken = chunk.length > maxBytes ? chunk.subarray(0, maxBytes) : chunk;
    this.#bytes -= taken.length;
    if (taken === chunk) this.#remove();
    else this.#chunks[this.#first] = chunk.subarray(maxBytes);
    return taken;
  }

  #join(chunk: Buffer): void {
    if (this.#slab !== null && this.#slabBytes + chunk.length <= SLAB_BYTES) this.#chunks.pop();
    else {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#slabBytes = 0;
    }
    this.#slabBytes += chunk.copy(this.#slab, this.#slabBytes);
    this.#chunks.push(this.#slab.subarray(0, this.#slabBytes));
  }

  #remove(): void {
    this.#first += 1;
    if (this.#first === this.#chunks.length) {
      this.#chunks = [];
      this.#first = 0;
    } else if (this.#first >= REMOVED_AT_ONCE && this.#first * 2 >= this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#first);
      this.#first = 0;
    }
  }
}

/** The view of a channel that one of its exchanges needs. */
export interface ChannelView {
  readonly output: ChannelOutput;
  /** Bytes that each exchange may have in flight to this node. */
  readonly windowBytes: number;
  /** More of a response waits, by this many bytes, or less. */
  held(bytes: number): void;
  /** The exchange has data to send. */
  await(stream: ChannelStream): void;
  /** The exchange is over. */
  leave(stream: ChannelStream): void;
}

/** Bytes that an exchange sends before the next exchange has its turn. */
export const TURN_BYTES = 65_536;

export interface ChannelPlace {
  readonly channel: ChannelView;
  readonly id: number;
}

/**
 * One exchange on a channel, with its flow control: a sender spends credit, and a receiver grants more as its data is
 * taken. Data that cannot be sent yet waits here, not in the channel, which all exchanges share.
 */
export abstract class ChannelStream {
  readonly id: number;
  /** At the node that sends the request: its place among the requests of all visitors. */
  place = -1;
  protected readonly channel: ChannelView;
  /** Bytes that may be sent. */
  #credit: number;
  #isWanted: boolean;
  #queue: ChunkQueue | null = null;
  /** Trailers that follow the queue. */
  #ending: string | null = null;
  /** Bytes that the other node may still send, and their number just after the last grant. */
  #allowed: number;
  #granted: number;
  #isOver = false;
  #leavesAfterEnd = false;

  constructor({ channel, id }: ChannelPlace, credit: number, allowed: number) {
    this.id = id;
    this.channel = channel;
    this.#credit = credit;
    this.#isWanted = credit > 0;
    this.#allowed = allowed;
    this.#granted = allowed;
  }

  /** A head, informational or not. */
  abstract onHead(type: number, number: number, text: string): void;
  /** False: the exchange keeps the bytes, and calls `grant` when they are taken. */
  abstract onChunk(chunk: Buffer): boolean;
  abstract onSendersEnd(text: string): void;
  abstract onReset(code: number): void;
  /** Only a worker needs it. */
  onNode(_name: string): void {}
  /** The channel is gone. */
  abstract onLost(): void;
  /** The first credit, for a sender that had none. */
  abstract onWanted(): void;
  /** All data that waited was sent. */
  abstract onSent(): void;
  /** This node has a bug. */
  abstract contain(error: unknown): void;

  get isSendable(): boolean {
    return this.#queue !== null && this.#credit > 0 && !this.#isOver;
  }

  received(chunk: Buffer): void {
    this.#allowed -= chunk.length;
    if (this.#allowed < 0) throw new ChannelViolation('more data than it was allowed to send');
    if (this.onChunk(chunk)) this.grant(0);
  }

  /** `heldBytes` have arrived and are not taken yet. */
  grant(heldBytes: number): void {
    const used = this.#allowed + heldBytes;
    if (this.#isOver || used > this.#granted / 2) return;
    const bytes = this.channel.windowBytes - used;
    if (bytes <= 0) return;
    this.#allowed += bytes;
    this.#granted = used + bytes;
    this.channel.output.number(CREDIT, this.id, bytes);
  }

  credited(bytes: number): void {
    if (bytes === 0) throw new ChannelViolation('a credit of nothing');
    const isFirst = !this.#isWanted;
    this.#isWanted = true;
    this.#credit += bytes;
    if (this.#credit > MAX_CREDIT_BYTES) throw new ChannelViolation('too much credit');
    if (isFirst) this.onWanted();
    if (this.#queue !== null) this.channel.await(this);
  }

  /** Sends up to `maxBytes` of the data that waits, as far as there is credit. */
  sendQueued(maxBytes: number): void {
    const queue = this.#queue;
    let left = Math.min(maxBytes, this.#credit);
    while (queue !== null && left > 0) {
      const part = queue.take(left);
      if (part === null) break;
      left -= part.length;
      this.#credit -= part.length;
      this.queued(-part.length);
      this.channel.output.data(this.id, part);
    }
    if (queue === null || queue.bytes > 0) return;
    this.#queue = null;
    if (this.#ending === null) this.onSent();
    else this.#sendEnd(this.#ending);
  }

  protected head(type: number, number: number, text: string): void {
    if (!this.#isOver) this.channel.output.head(type, this.id, number, text);
  }

  protected node(name: string): void {
    if (!this.#isOver) this.channel.output.text(NODE, this.id, name);
  }

  /** False: the caller sends no more until `onSent`. */
  protected send(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    const { output } = this.channel;
    // A larger chunk takes turns with other exchanges.
    if (this.#queue === null && chunk.length <= Math.min(this.#credit, TURN_BYTES) && !output.isFull) {
      this.#credit -= chunk.length;
      output.data(this.id, chunk);
      return true;
    }
    this.#queue ??= new ChunkQueue();
    this.#queue.push(chunk);
    this.queued(chunk.length);
    if (this.#credit > 0) this.channel.await(this);
    return this.#queue === null;
  }

  protected sendEnd(text: string): void {
    if (this.#isOver) return;
    if (this.#queue === null) this.#sendEnd(text);
    else this.#ending = text;
  }

  /** Ends the exchange. Frames of the exchange that still arrive are ignored. */
  protected reset(code: number): void {
    if (this.#isOver) return;
    this.channel.output.number(RESET, this.id, code);
    this.leave();
  }

  /** The other node has sent everything. The exchange is over as soon as this node has sent everything too. */
  protected leaveAfterEnd(): void {
    if (this.#ending === null) this.leave();
    else this.#leavesAfterEnd = true;
  }

  /** Both nodes know that the exchange is over. */
  protected leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#queue !== null) this.queued(-this.#queue.bytes);
    this.#queue = null;
    this.channel.leave(this);
  }

  /** This much more waits to be sent, or less. */
  protected queued(_bytes: number): void {}

  /** Called once. */
  protected onEndSent(): void {}

  #sendEnd(text: string): void {
    this.#ending = null;
    this.channel.output.text(END, this.id, text);
    this.onEndSent();
    if (this.#leavesAfterEnd) this.leave();
  }
}
