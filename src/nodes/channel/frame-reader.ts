import { ChannelViolation, DATA, HEADER_BYTES, MAX_PAYLOAD_BYTES } from './channel-frames.ts';

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
