import { randomBytes } from 'node:crypto';

/** Milliseconds of a clock that is the same in all threads, unlike `performance.now`, and that nobody sets. */
export function threadsNowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/** Places per row. Two addresses share both of theirs once in 268 million pairs, and are then counted as one. */
const SLOTS = 16_384;
const ROWS = 2;
const FIRST_SLOT = 1;
const PER_THREAD = FIRST_SLOT + ROWS * SLOTS;
/** One seed for each row: nobody can choose addresses that share their places. */
const SEEDS = ROWS;
const MARK = SEEDS;
const FIRST_THREAD = MARK + 1;

/**
 * Counts what the threads of a process hold, in total and by key. Each thread writes only its own part of the memory,
 * so nobody waits for a lock, and the part of a thread that has ended is cleared. Keys are not stored: each has one
 * place in each row, and the lesser count is its own, or too high in the rare case that two keys share both places.
 */
export class SharedTally {
  readonly #words: Int32Array;
  readonly #threads: number;
  readonly #own: number;

  /** `own`: the part that this thread writes, from 0. */
  constructor(buffer: SharedArrayBuffer, own: number) {
    this.#words = new Int32Array(buffer);
    this.#threads = (this.#words.length - FIRST_THREAD) / PER_THREAD;
    this.#own = FIRST_THREAD + own * PER_THREAD;
  }

  static memory(threads: number): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer((FIRST_THREAD + threads * PER_THREAD) * Int32Array.BYTES_PER_ELEMENT);
    const seeds = randomBytes(SEEDS * Int32Array.BYTES_PER_ELEMENT);
    new Uint8Array(buffer).set(seeds);
    return buffer;
  }

  /** The thread has ended. */
  static clear(buffer: SharedArrayBuffer, thread: number): void {
    new Int32Array(buffer).fill(0, FIRST_THREAD + thread * PER_THREAD, FIRST_THREAD + (thread + 1) * PER_THREAD);
  }

  /** What all threads hold. */
  get total(): number {
    let sum = 0;
    for (let thread = 0; thread < this.#threads; thread += 1) sum += this.#at(FIRST_THREAD + thread * PER_THREAD);
    return sum;
  }

  /** What all threads hold of a key. */
  of(key: string): number {
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < ROWS; row += 1) {
      const slot = this.#slot(key, row);
      let sum = 0;
      for (let thread = 0; thread < this.#threads; thread += 1)
        sum += this.#at(FIRST_THREAD + thread * PER_THREAD + slot);
      least = Math.min(least, sum);
    }
    return least;
  }

  /** Tells all threads that it was full now. */
  mark(): void {
    Atomics.store(this.#words, MARK, markNow());
  }

  /** Whether any thread has marked it so recently. */
  wasMarkedWithin(ms: number): boolean {
    const mark = this.#at(MARK);
    return mark !== 0 && ((markNow() - mark) | 0) < ms;
  }

  enter(key: string): void {
    this.#add(key, 1);
  }

  leave(key: string): void {
    this.#add(key, -1);
  }

  #add(key: string, by: 1 | -1): void {
    Atomics.add(this.#words, this.#own, by);
    for (let row = 0; row < ROWS; row += 1) Atomics.add(this.#words, this.#own + this.#slot(key, row), by);
  }

  #at(word: number): number {
    return Atomics.load(this.#words, word);
  }

  /** FNV-1a. */
  #slot(key: string, row: number): number {
    let hash = this.#words[row] ?? 0;
    for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 16_777_619);
    hash ^= hash >>> 15;
    return FIRST_SLOT + row * SLOTS + ((hash >>> 0) % SLOTS);
  }
}

/** Milliseconds in one word, which begins again after some weeks. */
function markNow(): number {
  return Math.trunc(threadsNowMs()) | 0 || 1;
}

/** Tries before a thread waits. What a lock protects takes about a microsecond. */
const SPINS = 200;
const WAIT_MS = 1;
const FREE = 0;

/**
 * A lock in memory that threads share, for a moment without I/O. A thread may be ended while it holds the lock: then
 * the main thread releases it, which must therefore never wait for one that another thread has.
 */
export class ThreadLock {
  readonly #words: Int32Array;
  readonly #at: number;
  readonly #holder: number;

  /** `at`: its word, which is 0 at first. `thread`: from -1. */
  constructor(words: Int32Array, at: number, thread: number) {
    this.#words = words;
    this.#at = at;
    this.#holder = holderOf(thread);
  }

  /** The thread has ended. */
  static release(words: Int32Array, at: number, thread: number): void {
    Atomics.compareExchange(words, at, holderOf(thread), FREE);
    Atomics.notify(words, at);
  }

  enter(): void {
    for (let tries = 1; ; tries += 1) {
      const held = Atomics.compareExchange(this.#words, this.#at, FREE, this.#holder);
      if (held === FREE) return;
      if (tries > SPINS) Atomics.wait(this.#words, this.#at, held, WAIT_MS);
    }
  }

  leave(): void {
    Atomics.store(this.#words, this.#at, FREE);
  }
}

function holderOf(thread: number): number {
  return thread + 2;
}
