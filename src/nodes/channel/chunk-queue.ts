/** Smaller chunks are joined: each object takes a hundred bytes of memory, and an agent may send single bytes. */
const JOINED_BYTES = 1_024;
const SLAB_BYTES = 16_384;
/** Taken chunks are removed from the list in steps: removing them one by one would take quadratic time. */
const REMOVED_AT_ONCE = 256;

/** Bytes that wait, in order. */
export class ChunkQueue {
  #chunks: Buffer[] = [];
  #first = 0;
  #bytes = 0;
  /** The last chunk is the start of this slab, up to `#slabBytes`. */
  #slab: Buffer | null = null;
  #slabBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#bytes += chunk.length;
    if (chunk.length < JOINED_BYTES) this.#join(chunk);
    else {
      this.#slab = null;
      this.#chunks.push(chunk);
    }
  }

  /** The next bytes, at most `maxBytes`; null when there are none. */
  take(maxBytes: number): Buffer | null {
    const chunk = this.#chunks[this.#first];
    if (chunk === undefined) return null;
    // The rest of the last chunk is no longer the start of the slab.
    if (this.#first === this.#chunks.length - 1) this.#slab = null;
    const taken = chunk.length > maxBytes ? chunk.subarray(0, maxBytes) : chunk;
    this.#bytes -= taken.length;
    if (taken === chunk) this.#remove();
    else this.#chunks[this.#first] = chunk.subarray(maxBytes);
    return taken;
  }

  #join(chunk: Buffer): void {
    if (this.#slab !== null && this.#slabBytes + chunk.length <= SLAB_BYTES) this.#chunks.pop();
    else {
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#slabBytes = 0;
    }
    this.#slabBytes += chunk.copy(this.#slab, this.#slabBytes);
    this.#chunks.push(this.#slab.subarray(0, this.#slabBytes));
  }

  #remove(): void {
    this.#first += 1;
    if (this.#first === this.#chunks.length) {
      this.#chunks = [];
      this.#first = 0;
    } else if (this.#first >= REMOVED_AT_ONCE && this.#first * 2 >= this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#first);
      this.#first = 0;
    }
  }
}
