/** Tries before a thread waits. What a lock protects takes about a microsecond. */
const SPINS = 200;
const WAIT_MS = 1;
const FREE = 0;

/**
 * A lock in memory that threads share, for a moment without I/O. A thread may be ended while it holds the lock: then the
 * main thread releases it, which must therefore never wait for one that another thread has.
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
