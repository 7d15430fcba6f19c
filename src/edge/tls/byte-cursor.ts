/**
 * Reads length-prefixed fields. Reading past the end is recorded instead of thrown: hostile input is an expected
 * outcome.
 */
export class ByteCursor {
  readonly #bytes: Buffer;
  readonly #end: number;
  #position: number;
  #isPastEnd = false;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#position = start;
    this.#end = end;
  }

  /** All bytes were read, and none past the end. */
  get isAtEnd(): boolean {
    return !this.#isPastEnd && this.#position === this.#end;
  }

  get isPastEnd(): boolean {
    return this.#isPastEnd;
  }

  /** A big-endian number of `size` bytes; 0 past the end. */
  number(size: 1 | 2 | 3): number {
    const start = this.#take(size);
    return start === null ? 0 : this.#bytes.readUIntBE(start, size);
  }

  skip(size: number): void {
    this.#take(size);
  }

  /** A field prefixed by its length, as a cursor over it; empty past the end. */
  vector(lengthSize: 1 | 2): ByteCursor {
    const length = this.number(lengthSize);
    const start = this.#take(length);
    return start === null
      ? new ByteCursor(this.#bytes, this.#end, this.#end)
      : new ByteCursor(this.#bytes, start, start + length);
  }

  get remaining(): number {
    return this.#end - this.#position;
  }

  /** The rest, one character per byte. */
  text(): string {
    const start = this.#position;
    this.#position = this.#end;
    return this.#bytes.toString('latin1', start, this.#end);
  }

  #take(size: number): number | null {
    if (this.#isPastEnd || this.remaining < size) {
      this.#isPastEnd = true;
      return null;
    }
    const start = this.#position;
    this.#position += size;
    return start;
  }
}
