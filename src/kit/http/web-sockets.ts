import { hash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { firstValue, type HeaderList, valuesOf } from './header-values.ts';

/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** The value of `Sec-WebSocket-Accept` that answers a key. */
export function webSocketAccept(key: string): string {
  return hash('sha1', `${key}${GUID}`, 'base64');
}

/**
 * Whether the headers of a 101 response answer the key of the request (RFC 6455 §4.1). One that does not comes from a
 * program that does not know WebSockets, or from a cache.
 */
export function isAccepted(request: HeaderList, response: HeaderList): boolean {
  const key = firstValue(request, 'sec-websocket-key');
  const values = valuesOf(response, 'sec-websocket-accept');
  return key !== undefined && values.length === 1 && values[0]?.trim() === webSocketAccept(key);
}

const HAS_MASK = 0x80;
const LENGTH = 0x7f;
const LENGTH_IN_2_BYTES = 126;
const LENGTH_IN_8_BYTES = 127;
const MASK_BYTES = 4;
const OPCODE = 0x0f;
const CLOSE = 0x8;

/**
 * Follows WebSocket frames (RFC 6455 §5.2) in one direction, to find where a frame can be inserted between two others.
 */
export class FrameBoundary {
  /** Bytes of an incomplete frame header. */
  #head: number[] = [];
  /** Remaining bytes of a frame after its header. */
  #left = 0;
  /** A Close frame has passed, or is passing: none may follow it. */
  hasClose = false;

  get isBetweenFrames(): boolean {
    return this.#left === 0 && this.#head.length === 0;
  }

  pass(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) at = this.passFrame(chunk, at);
  }

  /** Passes the rest of the current frame, or the next one. Returns where it ends in the chunk. */
  passFrame(chunk: Uint8Array, from = 0): number {
    let at = from;
    while (at < chunk.length) {
      if (this.#left === 0) {
        this.#head.push(chunk[at] as number);
        at += 1;
        this.#readHead();
      } else {
        const count = Math.min(this.#left, chunk.length - at);
        this.#left -= count;
        at += count;
      }
      if (this.isBetweenFrames) break;
    }
    return at;
  }

  #readHead(): void {
    const second = this.#head[1];
    if (second === undefined) return;
    const short = second & LENGTH;
    const extended = short === LENGTH_IN_2_BYTES ? 2 : short === LENGTH_IN_8_BYTES ? 8 : 0;
    if (this.#head.length < 2 + extended) return;
    const length = extended === 0 ? short : this.#head.slice(2).reduce((sum, byte) => sum * 256 + byte, 0);
    this.#left = length + ((second & HAS_MASK) === 0 ? 0 : MASK_BYTES);
    this.hasClose ||= ((this.#head[0] as number) & OPCODE) === CLOSE;
    this.#head = [];
  }
}

/** Close frames with status 1001 "going away" (RFC 6455 §5.5.1 and §7.4.1). */
const TO_CLIENT = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
/** A client's frames are masked; the mask hides nothing here. */
const TO_SERVICE = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9]);

/** Time for frames that were begun, and for both programs to close a WebSocket. */
export const CLOSE_WITHIN_MS = 1000;

/** One direction of a forwarded WebSocket, which can be closed cleanly: with a Close frame between two others. */
export class WebSocketDirection extends FrameBoundary {
  readonly #closeFrame: Buffer;
  /** Nothing may follow. */
  isClosed = false;

  constructor(to: 'client' | 'service') {
    super();
    this.#closeFrame = to === 'client' ? TO_CLIENT : TO_SERVICE;
  }

  /** Only between two frames: call it again after the rest of the current one, which ends at `passFrame`. */
  close(to: Writable): void {
    if (this.isClosed || !this.isBetweenFrames) return;
    this.isClosed = true;
    if (to.writable && !this.hasClose) to.write(this.#closeFrame);
  }
}
