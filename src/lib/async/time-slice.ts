/** Long work shares the event loop with traffic: it continues in the next turn after this time. */
const SLICE_MS = 8;

type Resume = () => void;

/** Shared by the whole process: several long tasks must not each take a slice of the same turn. */
const waiting: Resume[] = [];

/** Measures how long the current turn has worked, and hands the event loop over. */
export class TimeSlice {
  #endsAtMs = performance.now() + SLICE_MS;

  get isOver(): boolean {
    return performance.now() >= this.#endsAtMs;
  }

  /** Resolves in a later turn, in which no other slice runs. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(resumeOne);
    });
    this.#endsAtMs = performance.now() + SLICE_MS;
  }
}

function resumeOne(): void {
  const resume = waiting.shift();
  if (waiting.length > 0) setImmediate(resumeOne);
  resume?.();
}
