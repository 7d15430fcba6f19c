import { performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';

/** How long a process must have done next to nothing. */
const QUIET_MS = 25_000;
/** Share of this time in which the event loop was busy: probes and heartbeats. */
const MAX_BUSY_SHARE = 0.02;
/** A young generation below this is not worth a collection. */
const MIN_YOUNG_BYTES = 4 * 1024 * 1024;

/**
 * Gives memory back when a process has become idle. A start or a load leaves a young generation of 32 MB with nothing
 * alive in it. V8 shrinks it only in collections that reduce memory, and a process at rest causes none.
 */
export class RestCollector {
  readonly #collect: () => void;
  readonly #timer: NodeJS.Timeout;
  #since = performance.eventLoopUtilization();

  /** `collect`: collects the whole heap, and shrinks it. */
  constructor(collect: () => void, quietMs = QUIET_MS) {
    this.#collect = collect;
    this.#timer = setInterval(() => this.#look(), quietMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#since);
    this.#since = now;
    if (utilization > MAX_BUSY_SHARE || youngBytes() < MIN_YOUNG_BYTES) return;
    this.#collect();
    this.#since = performance.eventLoopUtilization();
  }
}

/** What the young generation occupies, alive or not. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.physical_space_size ?? 0;
}
