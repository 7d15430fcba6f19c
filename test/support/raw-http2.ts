import type { Duplex } from 'node:stream';
import { FLAG, FRAME, frame, PREFACE, SETTINGS_ACK, uint32 } from './http2-frames.ts';

export interface ReadFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const MAX_WINDOW = 2 ** 31 - 1;
/** SETTINGS_INITIAL_WINDOW_SIZE and SETTINGS_ENABLE_CONNECT_PROTOCOL. */
const OWN_SETTINGS = Buffer.concat([Buffer.from([0, 4]), uint32(MAX_WINDOW), Buffer.from([0, 8]), uint32(1)]);

/**
 * One end of an HTTP/2 connection that sends arbitrary bytes. It acknowledges settings and pings, grants the largest
 * windows, and otherwise leaves everything to the test.
 */
export class RawHttp2 {
  readonly frames: ReadFrame[] = [];
  readonly socket: Duplex;
  onFrame: (frame: ReadFrame) => void = () => {};
  #unread: Buffer = Buffer.alloc(0);
  #prefaceLeft: number;

  constructor(socket: Duplex, role: 'client' | 'server') {
    this.socket = socket;
    this.#prefaceLeft = role === 'server' ? PREFACE.length : 0;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    const start = [frame(FRAME.settings, 0, 0, OWN_SETTINGS), frame(FRAME.window, 0, 0, uint32(MAX_WINDOW - 65_535))];
    this.send(...(role === 'client' ? [PREFACE] : []), ...start);
  }

  send(...parts: readonly Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(parts));
  }

  /** Whether the peer has ended its side of a stream cleanly. */
  hasEnd(stream: number): boolean {
    return this.frames.some(
      (one) => one.stream === stream && one.type <= FRAME.headers && (one.flags & FLAG.endStream) !== 0,
    );
  }

  /** The code of the peer's RST_STREAM, or null. */
  resetCode(stream: number): number | null {
    const found = this.frames.find((one) => one.stream === stream && one.type === FRAME.reset);
    return found === undefined ? null : found.payload.readUInt32BE(0);
  }

  /** The data of a stream so far. */
  data(stream: number): Buffer {
    return Buffer.concat(
      this.frames.filter((one) => one.stream === stream && one.type === FRAME.data).map((one) => one.payload),
    );
  }

  #read(chunk: Buffer): void {
    let bytes = chunk;
    const skipped = Math.min(this.#prefaceLeft, bytes.length);
    this.#prefaceLeft -= skipped;
    bytes = bytes.subarray(skipped);
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= 9) {
      const end = 9 + this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < end) return;
      const head = this.#unread;
      this.#unread = head.subarray(end);
      this.#take({
        type: head[3] as number,
        flags: head[4] as number,
        stream: head.readUInt32BE(5) & 0x7fffffff,
        payload: head.subarray(9, end),
      });
    }
  }

  #take(read: ReadFrame): void {
    if (read.type === FRAME.settings && (read.flags & FLAG.ack) === 0) this.send(SETTINGS_ACK);
    if (read.type === FRAME.ping && (read.flags & FLAG.ack) === 0) this.send(frame(FRAME.ping, 1, 0, read.payload));
    this.frames.push(read);
    this.onFrame(read);
  }
}
