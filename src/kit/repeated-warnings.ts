interface Log {
  warn(fields: object, message: string): void;
}

/** The same warning is logged this often: what a stranger sends must not fill the log. */
const EVERY_MS = 10_000;
const MAX_KEYS = 1_000;

/** Warnings that other programs can cause. A line that follows unlogged ones has their number in `unlogged`. */
export class RepeatedWarnings {
  readonly #log: Log;
  readonly #message: string;
  readonly #monotonicMs: () => number;
  readonly #known = new Map<string, { loggedAtMs: number; unlogged: number }>();

  constructor(log: Log, message: string, monotonicMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#message = message;
    this.#monotonicMs = monotonicMs;
  }

  /** `key`: warnings with the same one are the same. */
  warn(fields: object, key: string): void {
    const nowMs = this.#monotonicMs();
    const known = this.#known.get(key);
    if (known !== undefined && nowMs - known.loggedAtMs < EVERY_MS) {
      known.unlogged += 1;
      return;
    }
    if (known === undefined && this.#known.size >= MAX_KEYS) this.#forgetOldest();
    // The latest is the last one: the first is the oldest.
    this.#known.delete(key);
    this.#known.set(key, { loggedAtMs: nowMs, unlogged: 0 });
    const more = known === undefined || known.unlogged === 0 ? {} : { unlogged: known.unlogged };
    this.#log.warn({ ...fields, ...more }, this.#message);
  }

  #forgetOldest(): void {
    for (const key of this.#known.keys()) {
      this.#known.delete(key);
      return;
    }
  }
}
