/** Two clocks drift apart by less than two milliseconds in this time. */
const VALID_MS = 10_000;
/** A peer passes on the database's time. One that differs by more is wrong, or hostile. */
const MAX_PEER_JUMP_MS = 5_000;

/**
 * The database's time, which all nodes share: its last answer plus elapsed monotonic time. A slow heartbeat says
 * little, so the fastest answer counts.
 */
export class SharedTime {
  readonly #monotonicMs: () => number;
  /** The database's time is no more than this ahead of the monotonic clock, so that leases never seem longer than they are. */
  #aheadMs: number;
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** Until the first answer it is this machine's time. */
  constructor(monotonicMs: () => number, startMs: number) {
    this.#monotonicMs = monotonicMs;
    this.#aheadMs = startMs - monotonicMs();
  }

  nowMs(): number {
    return Math.round(this.#monotonicMs() + this.#aheadMs);
  }

  /** What the database answered to a question that was sent at that time. */
  read(databaseMs: number, sentAtMs: number, { isFromPeer = false } = {}): void {
    const nowMs = this.#monotonicMs();
    const most = databaseMs - sentAtMs;
    const least = databaseMs - nowMs;
    if (isFromPeer && Math.abs(most - this.#aheadMs) > MAX_PEER_JUMP_MS) return;
    const isBetter = most < this.#aheadMs || least > this.#aheadMs || nowMs - this.#readAtMs > VALID_MS;
    if (!isBetter) return;
    this.#aheadMs = most;
    this.#readAtMs = nowMs;
  }
}
