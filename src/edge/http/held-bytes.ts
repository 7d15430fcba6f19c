const NOTHING = Buffer.alloc(0);
/** With more, nothing is read: a client that disconnects is then noticed only when a response is sent to it. */
const MAX_BYTES = 16_384;
/** A piece takes more memory than its bytes. */
const MAX_PIECES = 64;

/** Bytes that have arrived and must wait. */
export class HeldBytes {
  length = 0;
  #pieces: Buffer[] = [];

  /** No more should be read. */
  get isFull(): boolean {
    return this.length > MAX_BYTES || this.#pieces.length > MAX_PIECES;
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.length += bytes.length;
  }

  take(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.length = 0;
    return pieces.length === 1 ? (pieces[0] ?? NOTHING) : Buffer.concat(pieces);
  }
}
