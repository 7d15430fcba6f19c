import { performance } from 'node:perf_hooks';
import { Rotation } from '../../../kit/async/rotation.ts';
import { ownerOf, SharedPlaces } from '../../../kit/net/shared-places.ts';

/** About 5 ms of work, and at most twice as much in one turn. */
const TASKS_PER_TURN = 50;
/** A waiting request takes about 9 KB. */
const MAX_WAITING = 10_000;

interface Waiting {
  readonly task: () => void;
  readonly place: number;
}

/**
 * Spreads bursts over turns of the event loop. One HTTP/2 connection can deliver 250 requests in one read, and hundreds
 * of connections in one turn: everything else on the loop (the API, heartbeats of agents) would wait for all of them.
 * The places of those that wait are shared among the addresses of visitors: a hundred connections of one fill all. So
 * are the turns, or everybody would wait behind the thousands of one.
 */
export class TurnBudget {
  #left = 0;
  /** The turn in which the budget was last renewed. */
  #turn = -1;
  readonly #waiting = new Rotation<Waiting>();
  readonly #places = new SharedPlaces(MAX_WAITING);
  #isScheduled = false;

  /** So many tasks are waiting, or so many of this address, that another one must be rejected immediately. */
  isFullFor(address: string | undefined): boolean {
    return this.#places.shortage(address) !== null;
  }

  /** Whether a task may run now, even if only to be rejected; otherwise it has to use `later`. */
  take(address: string | undefined): boolean {
    if (this.isFullFor(address)) return true;
    if (this.#waiting.size > 0 || (this.#left === 0 && !this.#renew())) return false;
    this.#left -= 1;
    return true;
  }

  /**
   * For the next pipelined request of a connection, of which one at most waits. It may come from the task before it, so
   * a full queue must not let it run now: thousands of nested requests overflow the stack.
   */
  run(task: () => void, address: string | undefined): void {
    if (!this.isFullFor(address) && this.take(address)) task();
    else this.later(task, address);
  }

  /** Addresses get their turns in rotation, each for its tasks in order of arrival. */
  later(task: () => void, address: string | undefined): void {
    const owner = address === undefined ? undefined : ownerOf(address);
    this.#waiting.add({ task, place: this.#places.enter(address) }, owner);
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
    const tasks = this.#nextTasks();
    this.#left = 0;
    if (this.#waiting.size > 0) this.#schedule();
    // First, so that they do not count as waiting when they look whether they are rejected.
    for (const { place } of tasks) this.#places.leave(place);
    for (const { task } of tasks) task();
  }
  #nextTasks(): readonly Waiting[] {
    const tasks: Waiting[] = [];
    while (tasks.length < TASKS_PER_TURN) {
      const next = this.#waiting.take();
      if (next === undefined) break;
      tasks.push(next);
    }
    return tasks;
  }
}
