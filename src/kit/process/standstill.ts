import { readFileSync, readlinkSync } from 'node:fs';
import { within } from '../async/waiting.ts';

/** An event loop that works may take this long for one turn: compiling, collecting garbage. */
const LONGEST_TURN_MS = 1_000;
/** Requests that waited are refused afterwards. */
const CATCH_UP_WITHIN_MS = 2_000;

/**
 * Notices that this thread stood still: its process was stopped, or its machine suspended. Afterwards requests and the
 * news of other nodes wait in sockets, and the event loop reads them in any order.
 *
 * *current*: `look` returns null. → *behind*, when more than a second has passed since the last look: until everything
 * is known that other nodes changed before. A standstill while it is read begins another reading. → *current*.
 *
 * Somebody must look at least twice a second.
 */
export class Standstill {
  readonly #catchUp: () => Promise<unknown>;
  #lookedAtMs = performance.now();
  /** The monotonic clock does not count the time for which a machine was suspended. */
  #wallMs = Date.now();
  #behind: Promise<boolean> | null = null;

  constructor(catchUp: () => Promise<unknown>) {
    this.#catchUp = catchUp;
  }

  /**
   * Called per request, with the current time. Null: it did not stand still. Otherwise, when that is known, whether
   * this thread has caught up; then look again, because it may have stood still meanwhile.
   */
  look(nowMs = performance.now()): Promise<boolean> | null {
    const wallMs = Date.now();
    const stoodStill = nowMs - this.#lookedAtMs > LONGEST_TURN_MS || wallMs - this.#wallMs > LONGEST_TURN_MS;
    this.#lookedAtMs = nowMs;
    this.#wallMs = wallMs;
    if (stoodStill) this.#begin();
    return this.#behind;
  }

  #begin(): void {
    const behind: Promise<boolean> = within(this.#catchUp(), CATCH_UP_WITHIN_MS, 'changes of other nodes').then(
      () => this.#end(behind, true),
      () => this.#end(behind, false),
    );
    this.#behind = behind;
  }

  #end(behind: Promise<boolean>, isCaughtUp: boolean): boolean {
    if (this.#behind === behind) this.#behind = null;
    return isCaughtUp;
  }
}

/** What the system calls this thread, for `runDelayMs`. Null where it does not tell. Linux only. */
export function ownThread(): string | null {
  try {
    return readlinkSync('/proc/thread-self');
  } catch {
    return null;
  }
}

/**
 * How long a thread of this process was ready to run, but got no CPU, since it started. Zero where the system does not
 * tell.
 */
export function runDelayMs(thread: string): number {
  try {
    // Nanoseconds on a CPU, nanoseconds of waiting for one, turns (Documentation/scheduler/sched-stats.rst).
    const [, waited] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1e6 || 0;
  } catch {
    return 0;
  }
}
