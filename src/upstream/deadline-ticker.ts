/** Something with deadlines of its own to look at. */
export interface Ticked {
  onTick(nowMs: number): void;
}

/** Timeouts of seconds do not need to be exact. */
export const TICK_MS = 100;

/**
 * One coarse timer for any number of connections: moving a deadline costs an assignment, where a timer each would have to be
 * re-armed with every request. It runs only while somebody is on it, and keeps no process alive.
 */
export class DeadlineTicker {
  /** Milliseconds on a clock that never goes back; up to one tick old. */
  nowMs = performance.now();
  readonly #ticked = new Set<Ticked>();
  #timer: NodeJS.Timeout | null = null;

  get size(): number {
    return this.#ticked.size;
  }

  add(ticked: Ticked): void {
    this.#ticked.add(ticked);
    if (this.#timer !== null) return;
    this.nowMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  delete(ticked: Ticked): void {
    if (!this.#ticked.delete(ticked) || this.#ticked.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    this.nowMs = performance.now();
    for (const ticked of this.#ticked) ticked.onTick(this.nowMs);
  }
}
