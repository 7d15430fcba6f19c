/** Less is no part of a long task. */
const BUSY_MS = 2;

/** CPU time of this thread, turn by turn: what other work on the machine takes does not count. */
export class TurnMeter {
  #lastMs = cpuMs();
  #isOn = true;
  #longestMs = 0;
  #busyTurns = 0;
  readonly #startedAtMs = this.#lastMs;

  constructor() {
    const tick = (): void => {
      const nowMs = cpuMs();
      this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
      if (nowMs - this.#lastMs > BUSY_MS) this.#busyTurns += 1;
      this.#lastMs = nowMs;
      if (this.#isOn) setImmediate(tick);
    };
    setImmediate(tick);
  }

  stop(): { readonly busyTurns: number; readonly longestMs: number; readonly totalMs: number } {
    this.#isOn = false;
    return { busyTurns: this.#busyTurns, longestMs: this.#longestMs, totalMs: cpuMs() - this.#startedAtMs };
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
