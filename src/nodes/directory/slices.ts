import { reportBug } from '../../lib/bug-report.ts';

const SLICE_MS = 5;

/** Long work in short turns of the event loop, one task after the other. */
export class Slices {
  readonly #tasks: Iterator<unknown>[] = [];
  #isScheduled = false;
  #isClosed = false;

  get isIdle(): boolean {
    return this.#tasks.length === 0;
  }

  /** The first slice runs at once. */
  run(task: Iterator<unknown>): void {
    this.#tasks.push(task);
    if (!this.#isScheduled) this.#slice();
  }

  close(): void {
    this.#isClosed = true;
    this.#tasks.length = 0;
  }

  #slice(): void {
    this.#isScheduled = false;
    const until = performance.now() + SLICE_MS;
    for (let task = this.#tasks[0]; task !== undefined; task = this.#tasks[0]) {
      if (isOver(task)) this.#tasks.shift();
      else if (performance.now() > until) break;
    }
    if (this.#tasks.length === 0 || this.#isClosed) return;
    this.#isScheduled = true;
    setImmediate(() => this.#slice());
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
