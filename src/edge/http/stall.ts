/** Detects a peer that stopped reading. */
export class Stall {
  #taken = -1;
  #sinceMs = 0;

  /** How long the stall has lasted. `taken` is any number that changes when bytes move. */
  lasts(isWaiting: boolean, taken: number, nowMs: number): number {
    if (!isWaiting || taken !== this.#taken) {
      this.#taken = taken;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs;
  }
}
