import { atMost } from '../../lib/async/deadline.ts';
import type { LaneLedger } from '../../store/store.ts';

/** A database that answers does so long before. */
const WAIT_MS = 500;

/**
 * The lanes as the store last described them. Each scrape asks the store once, and waits for it only for a moment:
 * metrics must be served while the store does not answer, when they are needed most.
 */
export class KnownLanes {
  readonly #read: () => Promise<readonly LaneLedger[]>;
  readonly #waitMs: number;
  #known: readonly LaneLedger[] = [];
  #reading: Promise<void> | null = null;
  /** The store was late or failed, and has not answered since: nobody waits for it again. */
  #isLate = false;

  constructor(read: () => Promise<readonly LaneLedger[]>, waitMs = WAIT_MS) {
    this.#read = read;
    this.#waitMs = waitMs;
  }

  async current(): Promise<readonly LaneLedger[]> {
    this.#reading ??= this.#readAgain();
    if (!this.#isLate) await this.#moment(this.#reading);
    return this.#known;
  }

  async #readAgain(): Promise<void> {
    try {
      this.#known = await this.#read();
      this.#isLate = false;
    } catch {
      // The state of the store is a metric of its own, and its problem is in the log.
      this.#isLate = true;
    } finally {
      this.#reading = null;
    }
  }

  async #moment(reading: Promise<void>): Promise<void> {
    if ((await atMost(reading, this.#waitMs, 'late' as const)) === 'late') this.#isLate = true;
  }
}
