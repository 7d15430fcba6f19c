import type { SliceBudget } from './slice-lane.ts';

/** Measures how long the current turn has worked, and hands the event loop over. */
export class TimeSlice {
  readonly #budget: SliceBudget;
  #endsAtMs: number;

  constructor(budget: SliceBudget) {
    this.#budget = budget;
    this.#endsAtMs = budget.nowMs() + budget.sliceMs;
  }

  get isOver(): boolean {
    return this.#budget.nowMs() >= this.#endsAtMs;
  }

  /** Resolves in a later turn, with a new slice. */
  async next(): Promise<void> {
    await this.#budget.pause();
    this.#endsAtMs = this.#budget.nowMs() + this.#budget.sliceMs;
  }
}
