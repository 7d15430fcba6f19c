import { performance } from 'node:perf_hooks';

/** About 5 ms of work, and at most twice as much in one turn. */
const TASKS_PER_TURN = 50;
/** A waiting request takes about 9 KB. */
const MAX_WAITING = 10_000;

/**
 * Spreads bursts over turns of the event loop. One HTTP/2 connection can deliver 250 requests in one read, and hundreds
 * of connections in one turn: everything else on the loop (the API, heartbeats of agents) would wait for all of them.
 */
export class TurnBudget {
  #left = 0;
  /** The turn in which the budget was last renewed. */
  #turn = -1;
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** So many tasks are waiting that another one must be rejected immediately. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Whether a task may run now, even if only to be rejected; otherwise it has to use `later`. */
  take(): boolean {
    if (this.isFull) return true;
    if (this.#waiting.length > 0 || (this.#left === 0 && !this.#renew())) return false;
    this.#left -= 1;
    return true;
  }

  /**
   * For the next pipelined request of a connection, of which one at most waits. It may come from the task before it, so
   * a full queue must not let it run now: thousands of nested requests overflow the stack.
   */
  run(task: () => void): void {
    if (!this.isFull && this.take()) task();
    else this.later(task);
  }

  /** In order of arrival. */
  later(task: () => void): void {
    this.#waiting.push(task);
    this.#schedule();
  }

  /**
   * False: the budget of this turn is used up. Called only when nothing is left, so a turn may also use what an earlier
   * one left over. Renewal by `setImmediate` made the loop poll twice per turn, for smaller batches: 3 % of a request.
   */
  #renew(): boolean {
    const { loopCount } = performance.nodeTiming.uvMetricsInfo;
    if (loopCount === this.#turn) return false;
    this.#turn = loopCount;
    this.#left = TASKS_PER_TURN;
    return true;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#runWaiting());
  }

  #runWaiting(): void {
    this.#isScheduled = false;
    const tasks = this.#waiting.splice(0, TASKS_PER_TURN);
    this.#left = 0;
    if (this.#waiting.length > 0) this.#schedule();
    for (const task of tasks) task();
  }
}
