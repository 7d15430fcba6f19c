const EMPTY = Buffer.alloc(0);

/**
 * The start of a body. Bytes are copied into one growing block: a chunk is a slice of a larger read buffer, and keeping
 * the slice would keep the whole buffer in memory.
 */
export class KeptBody {
  /** Size of the whole body, stored or not. */
  totalBytes = 0;
  readonly #maxBytes: number;
  #block: Buffer = EMPTY;
  #length = 0;
  #isReleased = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): Buffer {
    return this.#block.subarray(0, this.#length);
  }

  get isTruncated(): boolean {
    return this.#length < this.totalBytes;
  }

  /** Returns by how many bytes its memory has grown. */
  add(chunk: Buffer): number {
    this.totalBytes += chunk.length;
    const wanted = Math.min(chunk.length, this.#maxBytes - this.#length);
    if (this.#isReleased || wanted <= 0) return 0;
    const grown = this.#makeRoom(this.#length + wanted);
    this.#length += chunk.copy(this.#block, this.#length, 0, wanted);
    return grown;
  }

  release(): void {
    this.#isReleased = true;
    this.#block = EMPTY;
    this.#length = 0;
  }

  #makeRoom(needed: number): number {
    const before = this.#block.length;
    if (needed <= before) return 0;
    // Not from the runtime's pool, where each slice keeps the whole pool alive.
    const block = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(needed, before * 2)));
    this.#block.copy(block, 0, 0, this.#length);
    this.#block = block;
    return block.length - before;
  }
}
