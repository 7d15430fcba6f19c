/** About 5 ms of work. */
const TASKS_PER_TURN = 50;
/** At about 9 KB for a request that waits. */
const MAX_WAITING = 10_000;

/**
 * Spreads bursts over turns of the event loop. One HTTP/2 connection can bring 250 requests in one read, and hundreds of
 * connections in one turn: everything else that waits for the loop (the API, heartbeats of agents) would wait for all of them.
 */
export class TurnBudget {
  #left = TASKS_PER_TURN;
  #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** So many tasks wait that another one has to be refused at once. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING;
  }

  /** Whether a task may run now, be it to be refused; if not, it has to go through `later`. */
  take(): boolean {
    this.#schedule();
    if (this.isFull) return true;
    if (this.#left === 0 || this.#waiting.length > 0) return false;
    this.#left -= 1;
    return true;
  }

  /** In the order in which they come. */
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
