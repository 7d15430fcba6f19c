const SECOND_MS = 1_000;

/** Admits a number of things in each second. */
export class PerSecond {
  readonly #max: number;
  #beganMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  take(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#beganMs >= SECOND_MS) {
      this.#beganMs = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#max;
  }
}
