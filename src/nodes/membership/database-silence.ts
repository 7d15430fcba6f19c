/**
 * The database is away when it has answered nothing for `NO_DATABASE_MS`, and a heartbeat has had no answer for
 * `OVERDUE_MS`. The first condition alone would hold for every heartbeat that takes a tenth of a second.
 */
const NO_DATABASE_MS = 500;
const OVERDUE_MS = 300;

/** How long the database has not answered this node. */
export class DatabaseSilence {
  readonly #monotonicMs: () => number;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  /** When the first heartbeat since the last answer was sent. */
  #sentAtMs = Number.POSITIVE_INFINITY;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  get ms(): number {
    return this.#monotonicMs() - this.#answeredAtMs;
  }

  get isAway(): boolean {
    return this.ms > NO_DATABASE_MS && this.#monotonicMs() - this.#sentAtMs > OVERDUE_MS;
  }

  sent(): void {
    this.#sentAtMs = Math.min(this.#sentAtMs, this.#monotonicMs());
  }

  answered(): void {
    this.#answeredAtMs = this.#monotonicMs();
    this.#sentAtMs = Number.POSITIVE_INFINITY;
  }
}
