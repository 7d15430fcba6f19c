/** After this time without knowledge, this node cannot tell whether a key was revoked. */
const UNKNOWN_AFTER_MS = 5_000;

/**
 * The time, by the monotonic clock, up to which this node knows what was deleted, disabled or narrowed on any node.
 */
export class KnownUntil {
  readonly #monotonicMs: () => number;
  #knownAtMs: number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.#knownAtMs = monotonicMs();
  }

  /** Called per request. */
  get isCurrent(): boolean {
    return this.#monotonicMs() - this.#knownAtMs < UNKNOWN_AFTER_MS;
  }

  at(ms: number): void {
    this.#knownAtMs = Math.max(this.#knownAtMs, ms);
  }
}
