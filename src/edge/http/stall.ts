/** Notices that bytes wait for somebody who takes none of them. */
export class Stall {
  #taken = -1;
  #sinceMs = 0;

  /** How long it has lasted. `taken` is anything that moves when bytes do. */
  lasts(isWaiting: boolean, taken: number, nowMs: number): number {
    if (!isWaiting || taken !== this.#taken) {
      this.#taken = taken;
      this.#sinceMs = nowMs;
    }
    return nowMs - this.#sinceMs;
  }
}
