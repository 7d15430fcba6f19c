/** Pieces that are kept before they become one. */
const MAX_PIECES = 256;

/**
 * Bytes that arrive in pieces of a peer's choice. Small pieces become one now and then: a body of 1 MB in pieces of one
 * byte took 500 MB of memory, as an object for each.
 */
export class GatheredBytes {
  readonly #chunks: Buffer[] = [];
  #pieces: Buffer[] = [];
  #bytes = 0;

  get length(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#pieces.length >= MAX_PIECES) this.#join();
  }

  whole(): Buffer {
    return Buffer.concat(this.chunks());
  }

  /** Everything so far, in order. */
  chunks(): readonly Buffer[] {
    if (this.#pieces.length > 0) this.#join();
    return this.#chunks;
  }

  #join(): void {
    const [first] = this.#pieces;
    this.#chunks.push(this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces));
    this.#pieces = [];
  }
}
