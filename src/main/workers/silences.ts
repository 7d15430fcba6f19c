export const LOOK_EVERY_MS = 500;
const MAX_SILENT_MS = 2_000;
/** However little the machine lets it run: every write waits for it. */
const MAX_LOOKS = 20;

interface Silence {
  readonly looks: number;
  /** Without the time in which it could not run. */
  readonly ms: number;
  readonly runDelayMs: number;
}

/**
 * How long workers have not answered. What a worker waits for a CPU does not count: a machine with too much to do would
 * lose its connections too. Counted in looks, since the thread that looks may be late itself.
 */
export class Silences<Worker extends object> {
  readonly #silences = new WeakMap<Worker, Silence>();

  /** `first`: ask it. `lost`: it has had two seconds to answer. */
  look(worker: Worker, runDelayMs: number): 'first' | 'waiting' | 'lost' {
    const before = this.#silences.get(worker);
    if (before === undefined) {
      this.#silences.set(worker, { looks: 0, ms: 0, runDelayMs });
      return 'first';
    }
    const ms = before.ms + Math.max(0, LOOK_EVERY_MS - (runDelayMs - before.runDelayMs));
    const looks = before.looks + 1;
    this.#silences.set(worker, { looks, ms, runDelayMs });
    return ms >= MAX_SILENT_MS || looks >= MAX_LOOKS ? 'lost' : 'waiting';
  }

  answered(worker: Worker): void {
    this.#silences.delete(worker);
  }
}
