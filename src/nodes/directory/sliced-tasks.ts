import { SliceLane, TimeSlice } from '../../lib/async/slice-lane.ts';
import { reportBug } from '../../lib/bug-report.ts';

/** Long tasks in slices, one after the other. */
export class SlicedTasks {
  readonly #lane = new SliceLane();
  readonly #tasks: Iterator<unknown>[] = [];
  #isRunning = false;

  get isIdle(): boolean {
    return this.#tasks.length === 0;
  }

  /** The first slice runs at once. */
  run(task: Iterator<unknown>): void {
    this.#tasks.push(task);
    if (!this.#isRunning) void this.#run();
  }

  close(): void {
    this.#tasks.length = 0;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const slice = new TimeSlice(this.#lane);
    for (let task = this.#tasks[0]; task !== undefined; task = this.#tasks[0]) {
      // A task may call `close`.
      if (isOver(task) && this.#tasks[0] === task) this.#tasks.shift();
      if (slice.isOver) await slice.next();
    }
    this.#isRunning = false;
  }
}

function isOver(task: Iterator<unknown>): boolean {
  try {
    return task.next().done === true;
  } catch (error) {
    reportBug(error, { part: 'sliced work' });
    return true;
  }
}
