import { CLIENT_HELLO, type HelloProblem, type HelloReading, messageLength, readClientHello } from './client-hello.ts';

export type ReaderState =
  | { readonly state: 'more' }
  | { readonly state: 'done'; readonly hello: Extract<HelloReading, { ok: true }>['hello'] }
  | { readonly state: 'refused'; readonly problem: HelloProblem | 'too_large'; readonly message: string };

/** Real ones have 200 bytes to 2 KB, including post-quantum key shares. */
export const MAX_HELLO_BYTES = 16 * 1024;

const HANDSHAKE = 22;
const RECORD_HEADER_BYTES = 5;
/** RFC 8446 §5.1. */
const MAX_RECORD_BYTES = 16 * 1024;
const MORE: ReaderState = { state: 'more' };

/**
 * Collects the first bytes of a connection, in pieces of any size, until the ClientHello is complete. The message may
 * span several records. Parsed bytes are not parsed again with the next piece, so that a client that sends byte by byte
 * costs little more than its packets.
 */
export class HelloReader {
  readonly #maxBytes: number;
  /** Everything received; `#length` bytes of it are filled. */
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Where the next record starts. */
  #position = 0;
  /** The message so far, `#messageLength` bytes; a view of the first record while there is no other. */
  #message: Buffer = Buffer.alloc(0);
  #messageLength = 0;

  constructor(maxBytes = MAX_HELLO_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Everything that was pushed. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  push(chunk: Buffer): ReaderState {
    this.#append(chunk);
    for (;;) {
      const headerProblem = this.#headerProblem();
      if (headerProblem !== null) return headerProblem;
      const end = this.#recordEnd();
      if (end === null || end > this.#length) break;
      const fragment = this.#bytes.subarray(this.#position + RECORD_HEADER_BYTES, end);
      this.#position = end;
      const state = stateOf(this.#gather(fragment), this.#maxBytes);
      if (state !== MORE) return state;
    }
    return this.#length >= this.#maxBytes ? tooLarge() : MORE;
  }

  #append(chunk: Buffer): void {
    this.#bytes = appended(this.#bytes, this.#length, chunk);
    this.#length += chunk.length;
  }

  /** The message so far. Copying all of it for each record would take quadratic time over records of one byte. */
  #gather(fragment: Buffer): Buffer {
    this.#message = appended(this.#message, this.#messageLength, fragment);
    this.#messageLength += fragment.length;
    return this.#message.subarray(0, this.#messageLength);
  }

  /**
   * Checks as much of the header as has arrived: a client with another protocol is rejected immediately, not after the
   * deadline.
   */
  #headerProblem(): ReaderState | null {
    const available = this.#length - this.#position;
    if (available >= 1 && this.#bytes[this.#position] !== HANDSHAKE) return notTls();
    if (available >= 2 && this.#bytes[this.#position + 1] !== 3) return notTls();
    if (available < RECORD_HEADER_BYTES) return null;
    const length = this.#bytes.readUInt16BE(this.#position + 3);
    const isAllowed = length > 0 && length <= MAX_RECORD_BYTES;
    return isAllowed ? null : { state: 'refused', problem: 'malformed', message: 'a record is empty or too long' };
  }

  #recordEnd(): number | null {
    if (this.#length - this.#position < RECORD_HEADER_BYTES) return null;
    return this.#position + RECORD_HEADER_BYTES + this.#bytes.readUInt16BE(this.#position + 3);
  }
}

/**
 * A buffer with the chunk appended after `length` bytes: the given one if it has room, otherwise one twice as large.
 */
function appended(bytes: Buffer, length: number, chunk: Buffer): Buffer {
  if (length === 0) return chunk;
  const needed = length + chunk.length;
  const target = needed <= bytes.length ? bytes : Buffer.allocUnsafeSlow(Math.max(needed, 2 * length, 2048));
  if (target !== bytes) bytes.copy(target, 0, 0, length);
  chunk.copy(target, length);
  return target;
}

function stateOf(message: Buffer, maxBytes: number): ReaderState {
  // Decided by its first byte, before waiting for the rest.
  if (message[0] !== CLIENT_HELLO)
    return { state: 'refused', problem: 'malformed', message: 'it is not a ClientHello' };
  const length = messageLength(message);
  if (length === null || length > message.length) return length !== null && length > maxBytes ? tooLarge() : MORE;
  // RFC 8446 §5.1: nothing may share the record with the end of a ClientHello, because the keys change after it.
  if (length < message.length)
    return { state: 'refused', problem: 'malformed', message: 'something follows in the same record' };
  const reading = readClientHello(message);
  return reading.ok
    ? { state: 'done', hello: reading.hello }
    : { state: 'refused', problem: reading.problem, message: reading.message };
}

function tooLarge(): ReaderState {
  return { state: 'refused', problem: 'too_large', message: 'it is larger than any real one' };
}

function notTls(): ReaderState {
  return { state: 'refused', problem: 'not_tls', message: 'the bytes are not those of TLS' };
}
