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
