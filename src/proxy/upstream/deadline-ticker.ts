import type { ListenerOwner } from '../../kit/guarded-listeners.ts';
/** An object that checks its own deadlines on each tick. */
export interface Ticked extends ListenerOwner {
  /** Maintained by the ticker; -1 when not registered. */
  tickPosition: number;
  onTick(nowMs: number): void;
}

/** Timeouts of seconds need no better precision. */
export const TICK_MS = 100;

/**
 * One coarse timer for any number of connections: moving a deadline costs an assignment, while one timer each would
 * have to be re-armed with every request. It stops at the first tick without members, and does not keep the process
 * alive.
 *
 * Uses a list with swap-remove, not a Set: the tables that a Set discards as it turns over keep their entries alive
 * (measured: half of all finished requests) until the next full garbage collection.
 */
export class DeadlineTicker {
  /** Milliseconds on a monotonic clock; up to one tick old. */
  nowMs = performance.now();
  readonly #ticked: Ticked[] = [];
  #timer: NodeJS.Timeout | null = null;

  get size(): number {
    return this.#ticked.length;
  }

  add(ticked: Ticked): void {
    if (ticked.tickPosition !== -1) return;
    ticked.tickPosition = this.#ticked.length;
    this.#ticked.push(ticked);
    if (this.#timer !== null) return;
    this.nowMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  delete(ticked: Ticked): void {
    const { tickPosition } = ticked;
    if (tickPosition === -1) return;
    ticked.tickPosition = -1;
    const last = this.#ticked.pop() as Ticked;
    if (last !== ticked) {
      this.#ticked[tickPosition] = last;
      last.tickPosition = tickPosition;
    }
  }

  #tick(): void {
    if (this.#ticked.length === 0) this.#stop();
    this.nowMs = performance.now();
    // Iterates backwards: a member that leaves is replaced by the last one, which was already visited.
    for (let at = this.#ticked.length - 1; at >= 0; at -= 1) {
      const ticked = this.#ticked[at];
      try {
        ticked?.onTick(this.nowMs);
      } catch (error) {
        ticked?.contain(error);
      }
    }
  }

  /** Not stopped when the last member leaves: with one request at a time the timer would be set for each request. */
  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
