import type { EdgeSnapshot } from './edge-snapshot.ts';

export interface CompiledEdge {
  /** Null: the edge is gone. */
  readonly snapshot: EdgeSnapshot | null;
  readonly dependencies: ReadonlySet<string>;
}

/** How long the event loop is given to work that can wait. */
export interface SliceBudget {
  readonly sliceMs: number;
  nowMs(): number;
  /** Lets everything else run. */
  pause(): Promise<void>;
}

/** 8,000 edges take seconds (0.2 to 0.5 ms each); traffic waits for a slice at a time. */
export const SLICES: SliceBudget = {
  sliceMs: 5,
  nowMs: () => performance.now(),
  pause: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Edges that one or several changes reach, compiled aside until all of them are. */
export class Compilation {
  readonly compiled = new Map<string, CompiledEdge>();
  readonly #waiting: Set<string>;
  readonly #done = Promise.withResolvers<void>();

  /** Whose changes it brings. */
  readonly revisions: Set<number>;

  constructor(edgeIds: Iterable<string>, revisions: Iterable<number>) {
    this.#waiting = new Set(edgeIds);
    this.revisions = new Set(revisions);
  }

  /** Resolves when what it compiled is served, and everybody who has to know does. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  add(edgeIds: Iterable<string>, revisions: Iterable<number>): void {
    for (const edgeId of edgeIds) this.#waiting.add(edgeId);
    for (const revision of revisions) this.revisions.add(revision);
  }

  /** A later change has already brought the edge further. Answers what was compiled for nothing. */
  overtaken(edgeId: string): CompiledEdge | undefined {
    this.#waiting.delete(edgeId);
    const compiled = this.compiled.get(edgeId);
    this.compiled.delete(edgeId);
    return compiled;
  }

  /** Answers whether all are compiled. */
  slice(compile: (edgeId: string) => CompiledEdge, budget: SliceBudget): boolean {
    const deadline = budget.nowMs() + budget.sliceMs;
    for (const edgeId of this.#waiting) {
      if (budget.nowMs() >= deadline) return false;
      this.#waiting.delete(edgeId);
      this.compiled.set(edgeId, compile(edgeId));
    }
    return true;
  }

  finish(): void {
    this.#done.resolve();
  }
}
