import { CLIENT_HELLO, type HelloProblem, type HelloReading, messageLength, readClientHello } from './client-hello.ts';

export type ReaderState =
  | { readonly state: 'more' }
  | { readonly state: 'done'; readonly hello: Extract<HelloReading, { ok: true }>['hello'] }
  | { readonly state: 'refused'; readonly problem: HelloProblem | 'too_large'; readonly why: string };

/** Real ones have 200 bytes to 2 KB, post-quantum key shares included. */
export const MAX_HELLO_BYTES = 16 * 1024;

const HANDSHAKE = 22;
const RECORD_HEADER_BYTES = 5;
/** RFC 8446 §5.1. */
const MAX_RECORD_BYTES = 16 * 1024;
const MORE: ReaderState = { state: 'more' };

/**
 * Takes the first bytes of a connection as they come, in pieces of any size, until the ClientHello is whole. The message may be
 * spread over records. What is read is not read again with the next piece, so that a client that sends byte by byte costs
 * little more than its packets do.
 */
export class HelloReader {
  readonly #maxBytes: number;
  /** Everything that came; `#length` of it is filled. */
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  /** Where the next record starts. */
  #position = 0;
  /** What the records so far hold of the message; stays empty when the first record holds all of it. */
  #message: Buffer = Buffer.alloc(0);

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
      const message = this.#message.length === 0 ? fragment : Buffer.concat([this.#message, fragment]);
      const state = stateOf(message, this.#maxBytes);
      if (state !== MORE) return state;
      this.#message = message;
    }
    return this.#length >= this.#maxBytes ? tooLarge() : MORE;
  }

  #append(chunk: Buffer): void {
    if (this.#length === 0) {
      this.#bytes = chunk;
    } else if (this.#length + chunk.length <= this.#bytes.length) {
      chunk.copy(this.#bytes, this.#length);
    } else {
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#length + chunk.length, 2 * this.#length, 2048));
      this.#bytes.copy(grown, 0, 0, this.#length);
      chunk.copy(grown, this.#length);
      this.#bytes = grown;
    }
    this.#length += chunk.length;
  }

  /** Looks at as much of the header as there is: whoever speaks another protocol is told at once, not after the deadline. */
  #headerProblem(): ReaderState | null {
    const available = this.#length - this.#position;
    if (available >= 1 && this.#bytes[this.#position] !== HANDSHAKE) return notTls();
    if (available >= 2 && this.#bytes[this.#position + 1] !== 3) return notTls();
    if (available < RECORD_HEADER_BYTES) return null;
    const length = this.#bytes.readUInt16BE(this.#position + 3);
    const isAllowed = length > 0 && length <= MAX_RECORD_BYTES;
    return isAllowed ? null : { state: 'refused', problem: 'malformed', why: 'a record is empty or too long' };
  }

  #recordEnd(): number | null {
    if (this.#length - this.#position < RECORD_HEADER_BYTES) return null;
    return this.#position + RECORD_HEADER_BYTES + this.#bytes.readUInt16BE(this.#position + 3);
  }
}

function stateOf(message: Buffer, maxBytes: number): ReaderState {
  // Told by its first byte, before waiting for the rest.
  if (message[0] !== CLIENT_HELLO) return { state: 'refused', problem: 'malformed', why: 'it is not a ClientHello' };
  const length = messageLength(message);
  if (length === null || length > message.length) return length !== null && length > maxBytes ? tooLarge() : MORE;
  // RFC 8446 §5.1: nothing may share the record with the end of a ClientHello, for the keys change behind it.
  if (length < message.length)
    return { state: 'refused', problem: 'malformed', why: 'something follows in the same record' };
  const reading = readClientHello(message);
  return reading.ok
    ? { state: 'done', hello: reading.hello }
    : { state: 'refused', problem: reading.problem, why: reading.why };
}

function tooLarge(): ReaderState {
  return { state: 'refused', problem: 'too_large', why: 'it is larger than any real one' };
}

function notTls(): ReaderState {
  return { state: 'refused', problem: 'not_tls', why: 'the bytes are not those of TLS' };
}
