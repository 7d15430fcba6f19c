import type { HeaderList } from '../../../kit/http/header-values.ts';
import { MAX_HEAD_BYTES, MAX_HEAD_FIELDS, MAX_STRING_BYTES } from '../../../kit/http2/heads.ts';

/** Frames of the channel between two nodes, documented in `docs/internals/decisions/0046-a-channel-for-hops.md`. */

/** Types of frames. A receiver ignores types that it does not know. */
export const REQUEST = 1;
export const INFORMATIONAL = 2;
export const RESPONSE = 3;
export const DATA = 4;
export const END = 5;
export const RESET = 6;
export const CREDIT = 7;
/** From the main thread to a worker: the node that passes the request on. */
export const NODE = 8;

export function isKnownType(type: number): boolean {
  return type >= REQUEST && type <= NODE;
}

/** Length of the payload in three bytes, type in one, number of the exchange in six. */
export const HEADER_BYTES = 10;
/** Two bytes before the text of a head, four in a reset or a credit. */
export const HEAD_NUMBER_BYTES = 2;
export const NUMBER_BYTES = 4;
/** The text of a head or of trailers. */
const MAX_TEXT_BYTES = MAX_HEAD_BYTES;
/** Names and values. */
const MAX_LINES = 2 * MAX_HEAD_FIELDS;
const MAX_PAYLOAD_BYTES = MAX_TEXT_BYTES + HEAD_NUMBER_BYTES;

/** Bits of a request's number. */
export const HAS_BODY = 1;
export const MAY_HAVE_TRAILERS = 2;
/** From a worker: the agent may have got it once, on a connection of the worker's own. */
export const IS_REPEAT = 4;
/** Added to the status of a response without body and trailers. */
export const IS_ENDED = 0x80_00;

/** Credit that the receiver of a response gives without a frame. A request's body waits for its first credit. */
export const INITIAL_CREDIT_BYTES = 65_536;
export const MAX_CREDIT_BYTES = 0x7f_ff_ff_ff;

/** The other node broke the protocol: nothing on this connection can be trusted. */
export class ChannelViolation extends Error {}

/** Names and values become lines. This costs two calls of the runtime; lengths would cost two calls per header. */
export function textOf(list: HeaderList): string {
  if (list.length > MAX_LINES) throw new UnsendableList(`more than ${MAX_LINES / 2} headers`, true);
  for (let at = 0; at < list.length; at += 1) {
    const part = list[at] as string;
    if (part.includes('\n')) throw new UnsendableList('a line feed in a header');
    // The connection to the agent carries none that is longer.
    if (part.length > MAX_STRING_BYTES) throw new UnsendableList(`a header of ${part.length} bytes`, true);
  }
  const text = list.join('\n');
  if (text.length > MAX_TEXT_BYTES) throw new UnsendableList(`more than ${MAX_TEXT_BYTES} bytes of headers`, true);
  return text;
}

export class UnsendableList extends Error {
  readonly isTooLarge: boolean;

  constructor(message: string, isTooLarge = false) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/** Characters that no header contains. Bytes above 127 are allowed, as in HTTP/2. */
const FORBIDDEN = /[^\t\n\x20-\x7e\x80-\xff]/;

export function listOf(text: string): string[] {
  if (text === '') return [];
  const list = text.split('\n');
  if (list.length > MAX_LINES) throw new ChannelViolation(`a head of ${list.length} lines`);
  if (list.length % 2 !== 0) throw new ChannelViolation('a header without a value');
  if (FORBIDDEN.test(text)) throw new ChannelViolation('a forbidden character in a header');
  return list;
}

export interface FrameHandler {
  /** The payload is in `bytes` from `start` to `end`, and valid during the call only. */
  onFrame(type: number, id: number, bytes: Buffer, start: number, end: number): void;
  /** A part of a data frame. */
  onChunk(id: number, chunk: Buffer): void;
}

const TWO_TO_32 = 2 ** 32;

/**
 * Splits a stream of bytes into frames. Data passes through as it arrives. Other frames are gathered, unless a frame is
 * in one chunk, as most frames are. Throws `ChannelViolation`.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #payload: Buffer | null = null;
  #payloadBytes = 0;
  #dataBytesLeft = 0;
  #type = 0;
  #id = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#dataBytesLeft > 0) at = this.#passData(chunk, at);
      else if (this.#payload !== null) at = this.#gatherPayload(this.#payload, chunk, at);
      else if (this.#headerBytes > 0 || chunk.length - at < HEADER_BYTES) at = this.#gatherHeader(chunk, at);
      else at = this.#begin(chunk, at, chunk, at + HEADER_BYTES);
    }
  }

  #passData(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#dataBytesLeft);
    this.#dataBytesLeft -= end - at;
    this.#handler.onChunk(this.#id, chunk.subarray(at, end));
    return end;
  }

  #gatherHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerBytes, at);
    this.#headerBytes += copied;
    if (this.#headerBytes < HEADER_BYTES) return at + copied;
    this.#headerBytes = 0;
    return this.#begin(this.#header, 0, chunk, at + copied);
  }

  #gatherPayload(payload: Buffer, chunk: Buffer, at: number): number {
    const copied = chunk.copy(payload, this.#payloadBytes, at);
    this.#payloadBytes += copied;
    if (this.#payloadBytes === payload.length) {
      this.#payload = null;
      this.#handler.onFrame(this.#type, this.#id, payload, 0, payload.length);
    }
    return at + copied;
  }

  /** Returns the position at which reading continues. */
  #begin(header: Buffer, headerAt: number, chunk: Buffer, at: number): number {
    const word = header.readUInt32BE(headerAt);
    const length = word >>> 8;
    this.#type = word & 0xff;
    this.#id = header.readUInt16BE(headerAt + 4) * TWO_TO_32 + header.readUInt32BE(headerAt + 6);
    if (this.#type === DATA) {
      this.#dataBytesLeft = length;
      return at;
    }
    if (length > MAX_PAYLOAD_BYTES) throw new ChannelViolation(`a frame of ${length} bytes`);
    const end = at + length;
    if (end <= chunk.length) {
      this.#handler.onFrame(this.#type, this.#id, chunk, at, end);
      return end;
    }
    this.#payload = Buffer.allocUnsafeSlow(length);
    this.#payloadBytes = 0;
    return at;
  }
}
