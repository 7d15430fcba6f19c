import type { Clock } from '../../../kit/clock.ts';
import { threadsNowMs } from '../../../kit/process/shared-memory.ts';

/**
 * Figures that the main thread keeps up to date for all workers, in shared memory. A worker reads them for each
 * request, so nobody sends messages about them.
 */
const PUBLISHED_AT = 0;
const SERVES_UNTIL = 1;
const IS_CURRENT = 2;
const IS_UNSETTLED = 3;
const FIGURES = 4;

/** The main thread has stopped for so long that what it said is no longer known to be true. */
const STALE_AFTER_MS = 500;

interface StatusFigures {
  /** How long the right to serve names of agents certainly lasts. */
  readonly rightLeftMs: number;
  readonly isCurrent: boolean;
  /** This node is not linked with all others, which may announce further tunnels in a moment. */
  readonly isUnsettled: boolean;
}

export function newSharedStatus(): SharedArrayBuffer {
  return new SharedArrayBuffer(FIGURES * Float64Array.BYTES_PER_ELEMENT);
}

export class SharedStatus {
  readonly #figures: Float64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#figures = new Float64Array(buffer);
  }

  publish({ rightLeftMs, isCurrent, isUnsettled }: StatusFigures): void {
    const figures = this.#figures;
    figures[SERVES_UNTIL] = threadsNowMs() + rightLeftMs;
    figures[IS_CURRENT] = Number(isCurrent);
    figures[IS_UNSETTLED] = Number(isUnsettled);
    figures[PUBLISHED_AT] = threadsNowMs();
  }

  /** The main thread may stand still: the right ends nevertheless. */
  get mayServe(): boolean {
    return threadsNowMs() < (this.#figures[SERVES_UNTIL] ?? 0);
  }

  get isCurrent(): boolean {
    return this.#figures[IS_CURRENT] === 1 && !this.#isStale;
  }

  get isUnsettled(): boolean {
    return this.#figures[IS_UNSETTLED] === 1;
  }

  get #isStale(): boolean {
    return threadsNowMs() - (this.#figures[PUBLISHED_AT] ?? 0) > STALE_AFTER_MS;
  }
}

/** The clock of the installation, in a thread that only knows how far it is from the clock of the machine. */
export function sharedClock(sharedOffset: SharedArrayBuffer): Clock {
  const offset = new Float64Array(sharedOffset);
  return { nowMs: () => Date.now() + (offset[0] ?? 0), sharedOffset };
}

export function newClockOffset(): SharedArrayBuffer {
  return new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
}

export function publishOffset(clock: Clock, sharedOffset: SharedArrayBuffer): void {
  new Float64Array(sharedOffset)[0] = clock.nowMs() - Date.now();
}
