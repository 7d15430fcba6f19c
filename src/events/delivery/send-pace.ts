import { setTimeout as sleep } from 'node:timers/promises';

/** So many enqueuings within a window are a burst. Traffic is written in batches, a few a second, and never is one. */
const WINDOW_MS = 100;
const BURST_COUNT = 25;
/** A burst is over after so long without a window of that kind. */
const QUIET_MS = 300;
/** What lasts longer is no burst: deliveries that waited for its end would pile up for good. */
const MAX_YIELD_MS = 30_000;
/** Between two sendings of this process during a burst. */
const GAP_MS = 10;

/**
 * Sending shares the event loop with the API, and costs it as much as a change does: so while changes pour in, deliveries,
 * which have time, go on at a low pace, and catch up afterwards.
 *
 * States: *calm* (nobody waits), *burst* (sendings go one by one), *lasting* (a burst beyond its time: nobody waits).
 */
export class SendPace {
  readonly #nowMs: () => number;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #windowCount = 0;
  #burstStartMs = Number.NEGATIVE_INFINITY;
  #lastBusyMs = Number.NEGATIVE_INFINITY;
  #nextSlotMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Something was enqueued by this process. */
  enqueued(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#windowStartMs >= WINDOW_MS) {
      this.#windowStartMs = nowMs;
      this.#windowCount = 0;
    }
    this.#windowCount += 1;
    if (this.#windowCount < BURST_COUNT) return;
    if (nowMs - this.#lastBusyMs >= QUIET_MS) this.#burstStartMs = nowMs;
    this.#lastBusyMs = nowMs;
  }

  get isBurst(): boolean {
    const nowMs = this.#nowMs();
    return nowMs - this.#lastBusyMs < QUIET_MS && nowMs - this.#burstStartMs < MAX_YIELD_MS;
  }

  /** How long a sending that would begin now has to wait; it takes its place in the row. */
  takeSlot(): number {
    if (!this.isBurst) return 0;
    const nowMs = this.#nowMs();
    const slotMs = Math.max(nowMs, this.#nextSlotMs);
    this.#nextSlotMs = slotMs + GAP_MS;
    return slotMs - nowMs;
  }

  /** Before every sending. Resolves at once, too, when the signal says that nothing is to be sent. */
  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.takeSlot();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {});
  }
}
