import { type Periodic, periodically } from '../../lib/async/periodically.ts';

/** A revocation has to cut streams of the process that is being replaced as quickly as anywhere else. */
const POLL_MS = 100;

/**
 * Notices commits of the other process while two share the database: one that drains and one that has taken over. A
 * write of this process meanwhile waits for SQLite's own lock.
 */
export class ForeignCommits {
  readonly #readRevision: () => Promise<number>;
  #listener: () => void = () => {};
  #applied: () => number = () => Number.POSITIVE_INFINITY;
  #looks: Periodic | null = null;

  constructor(readRevision: () => Promise<number>) {
    this.#readRevision = readRevision;
  }

  get isFollowing(): boolean {
    return this.#looks !== null;
  }

  onCommit(listener: () => void): void {
    this.#listener = listener;
  }

  /** The revision that all readers in this process have reached. */
  compareWith(applied: () => number): void {
    this.#applied = applied;
  }

  follow(): void {
    this.#looks ??= periodically(() => this.#look(), POLL_MS);
  }

  /** Looks once more: the other process may have committed since the last look. */
  async stop(): Promise<void> {
    const looks = this.#looks;
    if (looks === null) return;
    this.#looks = null;
    await looks.close();
    await this.#look();
  }

  async #look(): Promise<void> {
    try {
      if ((await this.#readRevision()) > this.#applied()) this.#listener();
    } catch {
      // The probe reports a database that cannot be read; the next look repeats this one.
    }
  }
}
