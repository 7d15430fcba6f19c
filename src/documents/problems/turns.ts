import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work of milliseconds at a time: it shares the event loop with traffic. */
const TURN_MS = 4;

export class Turns {
  #endsAtMs = performance.now() + TURN_MS;

  isOver(): boolean {
    return performance.now() >= this.#endsAtMs;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#endsAtMs = performance.now() + TURN_MS;
  }
}
