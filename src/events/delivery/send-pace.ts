import { setTimeout as sleep } from 'node:timers/promises';

/**
 * This many enqueued events within a window are a burst. Traffic events are written in batches, a few per second, and
 * never count as one.
 */
const WINDOW_MS = 100;
const BURST_COUNT = 25;
/** A burst is over after this long without such a window. */
const QUIET_MS = 300;
/** Anything longer is not a burst: deliveries that waited for its end would pile up indefinitely. */
const MAX_YIELD_MS = 30_000;
/** Interval between two sends of this process during a burst. */
const GAP_MS = 10;

/**
 * Sending shares the event loop with the API, and one send costs about as much as one change. So while changes pour in,
 * deliveries, which can wait, continue at a low pace and catch up afterwards.
 *
 * States: *calm* (no delay), *burst* (sends are spaced out), *lasting* (a burst beyond its maximum: no delay).
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

  /** This process enqueued an event. */
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

  /** Delay of a send that would start now; reserves its slot. */
  takeSlot(): number {
    if (!this.isBurst) return 0;
    const nowMs = this.#nowMs();
    const slotMs = Math.max(nowMs, this.#nextSlotMs);
    this.#nextSlotMs = slotMs + GAP_MS;
    return slotMs - nowMs;
  }

  /** Called before every send. Resolves immediately when the signal has aborted. */
  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.takeSlot();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {});
  }
}
