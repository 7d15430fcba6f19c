const NONE = Buffer.alloc(0);
const FIRST_CAPACITY = 512;
/** A connection that once received a large head does not keep the memory for it. */
const KEPT_CAPACITY = 4096;

/**
 * Finds the end of a line or of a block of lines that may arrive in any number of pieces. Input that arrives whole is
 * read in place. Only an unfinished remainder is copied, and each byte is examined once, however small the pieces.
 */
export class CarriedBytes {
  /** Where reading continues in the buffer passed to `take`. */
  next = 0;
  #bytes: Buffer = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * The text up to and including the terminator. Null when the terminator has not arrived, or not within `limit` bytes:
   * see `length`.
   */
  take(bytes: Buffer, at: number, terminator: Buffer, limit: number): string | null {
    const before = this.#length;
    if (before === 0) {
      const found = bytes.indexOf(terminator, at);
      if (found !== -1 && found + terminator.length - at <= limit) {
        this.next = found + terminator.length;
        return bytes.toString('latin1', at, this.next);
      }
    }
    const taken = Math.min(bytes.length - at, limit - before);
    this.#append(bytes, at, taken);
    const found = this.#bytes
      .subarray(0, this.#length)
      .indexOf(terminator, Math.max(0, before - terminator.length + 1));
    if (found === -1) {
      this.next = at + taken;
      return null;
    }
    const end = found + terminator.length;
    this.next = at + end - before;
    const text = this.#bytes.toString('latin1', 0, end);
    this.clear();
    return text;
  }

  /** The carried text, starting at `from`. */
  peek(from: number): string {
    return this.#bytes.toString('latin1', from, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > KEPT_CAPACITY) this.#bytes = NONE;
  }

  #append(bytes: Buffer, at: number, count: number): void {
    const needed = this.#length + count;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, this.#bytes.length * 2, needed));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    bytes.copy(this.#bytes, this.#length, at, at + count);
    this.#length = needed;
  }
}

/** Looks only at a character and its predecessor, so that pieces can be checked one after the other. */
const WRONG_BYTE = /[^\t\r\n\x20-\x7e\x80-\xff]|(?<=\r)[^\n]|(?<!\r)\n/g;

/** Finds errors in lines that have not ended yet; `from` is the end of the part already checked. */
export function unfinishedLinesProblem(carried: CarriedBytes, from: number): string | null {
  const overlap = from > 0 ? 1 : 0;
  WRONG_BYTE.lastIndex = overlap;
  return WRONG_BYTE.test(carried.peek(from - overlap)) ? 'a forbidden byte in the headers' : null;
}
