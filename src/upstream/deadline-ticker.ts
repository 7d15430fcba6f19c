import type { ListenerOwner } from '../lib/guarded-listeners.ts';
/** Something with deadlines of its own to look at. */
export interface Ticked extends ListenerOwner {
  /** Kept by the ticker; -1 when it is not on it. */
  tickPosition: number;
  onTick(nowMs: number): void;
}

/** Timeouts of seconds do not need to be exact. */
export const TICK_MS = 100;

/**
 * One coarse timer for any number of connections: moving a deadline costs an assignment, where a timer each would have to be
 * re-armed with every request. It ends with the first tick that finds nobody, and keeps no process alive.
 *
 * A list in which the last one takes the place of one that leaves, not a set: tables that a set leaves behind as it turns over keep
 * what was in them, here half of all finished requests, alive until the next full garbage collection.
 */
export class DeadlineTicker {
  /** Milliseconds on a clock that never goes back; up to one tick old. */
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
    // Backwards: one that leaves meanwhile has its place taken by the last, which has had its turn.
    for (let at = this.#ticked.length - 1; at >= 0; at -= 1) {
      const ticked = this.#ticked[at];
      try {
        ticked?.onTick(this.nowMs);
      } catch (error) {
        ticked?.contain(error);
      }
    }
  }

  /** Not as soon as the last one leaves: with one request at a time it would be set for each. */
  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}
