/** About 5 ms of work. */
const TASKS_PER_TURN = 50;
/** A waiting request takes about 9 KB. */
const MAX_WAITING = 10_000;

/**
 * Spreads bursts over turns of the event loop. One HTTP/2 connection can deliver 250 requests in one read, and hundreds
 * of connections in one turn: everything else on the loop (the API, heartbeats of agents) would wait for all of them.
 */
export class TurnBudget {
  #left = TASKS_PER_TURN;
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** So many tasks are waiting that another one must be rejected immediately. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Whether a task may run now, even if only to be rejected; otherwise it has to use `later`. */
  take(): boolean {
    this.#schedule();
    if (this.isFull) return true;
    if (this.#left === 0 || this.#waiting.length > 0) return false;
    this.#left -= 1;
    return true;
  }

  run(task: () => void): void {
    if (this.take()) task();
    else this.later(task);
  }

  /** In order of arrival. */
  later(task: () => void): void {
    this.#waiting.push(task);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isScheduled = false;
    this.#left = TASKS_PER_TURN;
    if (this.#waiting.length === 0) return;
    const tasks = this.#waiting.splice(0, TASKS_PER_TURN);
    this.#left -= tasks.length;
    this.#schedule();
    for (const task of tasks) task();
  }
}
