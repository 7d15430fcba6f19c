import type { Http2Stream } from 'node:http2';
import { guarded, type ListenerOwner } from '../../../kit/guarded-listeners.ts';
import { bufferPassed } from '../../../kit/net/waiting-bytes.ts';
import { ChannelViolation, DATA, HEAD_NUMBER_BYTES, HEADER_BYTES, NUMBER_BYTES } from './channel-frames.ts';

const SLAB_BYTES = 65_536;
/** Smaller chunks of data are copied: one write of many frames is cheaper than many writes. */
const COPIED_BYTES = 8_192;
/** With this many bytes, waiting for the end of the turn gains nothing. */
const FLUSH_BYTES = 65_536;
/** More bytes would only delay the frames of other exchanges: they wait in the queues of their exchanges instead. */
const MAX_UNSENT_BYTES = 262_144;
/** Limit for a node that answers pings but reads nothing: heads do not wait for credit. */
const MAX_UNREAD_BYTES = 67_108_864;
const TWO_TO_32 = 2 ** 32;

/** Writes frames. The frames of one turn of the event loop become one write. */
export class ChannelOutput {
  readonly #stream: Http2Stream;
  readonly #owner: ListenerOwner;
  readonly #flushLater: () => void;
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** The unsent part of the slab. */
  #from = 0;
  #at = 0;
  /** Buffers to send before the unsent part of the slab. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #isScheduled = false;
  #isFull = false;

  constructor(stream: Http2Stream, owner: ListenerOwner) {
    this.#stream = stream;
    this.#owner = owner;
    this.#flushLater = guarded(owner, () => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  /** Whether data should wait. Other frames are small, and go first. */
  get isFull(): boolean {
    return this.#isFull;
  }

  get hasUnsent(): boolean {
    return this.#bytes > 0 || this.#stream.writableLength > 0;
  }

  /** The stream has sent everything that it had. */
  drained(): void {
    this.#isFull = false;
  }

  /** A request, a response or an informational response. */
  head(type: number, id: number, number: number, text: string): void {
    const at = this.#begin(type, id, HEAD_NUMBER_BYTES + text.length);
    this.#slab.writeUInt16BE(number, at);
    this.#slab.write(text, at + HEAD_NUMBER_BYTES, 'latin1');
  }

  text(type: number, id: number, text: string): void {
    const at = this.#begin(type, id, text.length);
    if (text !== '') this.#slab.write(text, at, 'latin1');
  }

  number(type: number, id: number, number: number): void {
    // `#begin` may replace `#slab`, so `#slab` is read after it.
    const at = this.#begin(type, id, NUMBER_BYTES);
    this.#slab.writeUInt32BE(number, at);
  }

  data(id: number, chunk: Buffer): void {
    if (chunk.length <= COPIED_BYTES) {
      const at = this.#begin(DATA, id, chunk.length);
      chunk.copy(this.#slab, at);
    } else {
      this.#header(DATA, id, chunk.length, this.#reserve(HEADER_BYTES));
      this.#closePart();
      this.#parts.push(chunk);
      this.#bytes += chunk.length;
    }
    if (this.#bytes >= FLUSH_BYTES) this.flush();
  }

  flush(): void {
    const stream = this.#stream;
    this.#closePart();
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#parts = [];
    this.#bytes = 0;
    if (!stream.writable) return;
    if (parts.length > 1) stream.cork();
    for (const part of parts) stream.write(part);
    if (parts.length > 1) stream.uncork();
    // Full until the stream is empty: otherwise new exchanges would always overtake the exchanges that wait.
    if (stream.writableLength > MAX_UNSENT_BYTES) this.#isFull = true;
    if (stream.writableLength > MAX_UNREAD_BYTES)
      this.#owner.contain(new ChannelViolation('it does not read its channel'));
  }

  /** Writes a frame's header. Returns the position of the payload in the slab. */
  #begin(type: number, id: number, length: number): number {
    const at = this.#reserve(HEADER_BYTES + length);
    this.#header(type, id, length, at);
    return at + HEADER_BYTES;
  }

  #header(type: number, id: number, length: number, at: number): void {
    const slab = this.#slab;
    slab.writeUInt32BE(length * 256 + type, at);
    slab.writeUInt16BE(Math.floor(id / TWO_TO_32), at + 4);
    slab.writeUInt32BE(id % TWO_TO_32, at + 6);
  }

  #reserve(bytes: number): number {
    if (this.#at + bytes > this.#slab.length) {
      this.#closePart();
      bufferPassed(this.#slab.length);
      this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, bytes));
      this.#from = 0;
      this.#at = 0;
    }
    const at = this.#at;
    this.#at += bytes;
    this.#bytes += bytes;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#flushLater);
    }
    return at;
  }

  #closePart(): void {
    if (this.#at > this.#from) this.#parts.push(this.#slab.subarray(this.#from, this.#at));
    this.#from = this.#at;
  }
}
