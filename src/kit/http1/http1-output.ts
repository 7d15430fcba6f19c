import type { Socket } from 'node:net';

export type OutputSocket = Pick<Socket, 'write' | 'cork' | 'uncork' | 'destroyed'>;

/** Bodies up to this size are copied behind their head: one write is cheaper than two. */
const MAX_COPIED_BYTES = 16_384;
const CRLF_BYTES = 2;

/** Writes to a socket, and combines a held head with what follows it. */
export class Http1Output {
  readonly #socket: OutputSocket;
  #held = '';

  constructor(socket: OutputSocket) {
    this.#socket = socket;
  }

  get isHeld(): boolean {
    return this.#held !== '';
  }

  /** Latin-1. */
  hold(text: string): void {
    this.#held += text;
  }

  flush(): boolean {
    const text = this.#held;
    this.#held = '';
    return this.#socket.write(text, 'latin1');
  }

  writeText(text: string): boolean {
    this.hold(text);
    return this.flush();
  }

  /** Whether writing this chunk copies it: then its bytes may change afterwards. */
  copies({ length }: Buffer, isChunked: boolean): boolean {
    return length <= MAX_COPIED_BYTES && (isChunked || this.#held !== '');
  }

  /** Returns false when the socket cannot accept more for now. */
  write(chunk: Buffer): boolean {
    const before = this.#held;
    if (before === '') return this.#socket.write(chunk);
    this.#held = '';
    if (chunk.length <= MAX_COPIED_BYTES) return this.#socket.write(joined(before, chunk, ''));
    return this.#writeParts(before, chunk, '');
  }

  /** The same in the chunked coding (RFC 9112 §7.1). */
  writeChunk(chunk: Buffer): boolean {
    const before = `${this.#held}${chunk.length.toString(16)}\r\n`;
    this.#held = '';
    if (chunk.length <= MAX_COPIED_BYTES) return this.#socket.write(joined(before, chunk, '\r\n'));
    return this.#writeParts(before, chunk, '\r\n');
  }

  #writeParts(before: string, chunk: Buffer, after: '' | '\r\n'): boolean {
    const socket = this.#socket;
    socket.cork();
    socket.write(before, 'latin1');
    let hasRoom = socket.write(chunk);
    if (after !== '') hasRoom = socket.write(after, 'latin1');
    socket.uncork();
    return hasRoom;
  }
}

function joined(before: string, chunk: Buffer, after: '' | '\r\n'): Buffer {
  const whole = Buffer.allocUnsafe(before.length + chunk.length + (after === '' ? 0 : CRLF_BYTES));
  whole.write(before, 0, 'latin1');
  whole.set(chunk, before.length);
  if (after !== '') whole.write(after, before.length + chunk.length, 'latin1');
  return whole;
}
