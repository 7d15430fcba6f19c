import type { TimeSlice } from '../lib/async/slice-lane.ts';
import type { Change } from '../store/store.ts';
import type { EdgeSnapshot } from './edge-snapshot.ts';

export interface CompiledEdge {
  /** Null: the edge was deleted. */
  readonly snapshot: EdgeSnapshot | null;
  readonly dependencies: ReadonlySet<string>;
}

const CHANGES_PER_STEP = 100;

/** Edges affected by one or more changes, held back until all of them are compiled. */
export class Compilation {
  readonly compiled = new Map<string, CompiledEdge>();
  readonly #waiting: Set<string>;
  /** Changes whose edges are not known yet. */
  readonly #unresolved: Change[] = [];
  #resolved = 0;
  readonly #done = Promise.withResolvers<void>();

  /** The revisions whose changes it contains. */
  readonly revisions: Set<number>;

  constructor(edgeIds: Iterable<string>, revisions: Iterable<number>) {
    this.#waiting = new Set(edgeIds);
    this.revisions = new Set(revisions);
  }

  /** Resolves when its edges are served and all listeners have been notified. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  add(edgeIds: Iterable<string>, revisions: Iterable<number>): void {
    for (const edgeId of edgeIds) this.#waiting.add(edgeId);
    for (const revision of revisions) this.revisions.add(revision);
  }

  /** Many changes: which edges they affect is found out in slices too. */
  addChanges(changes: readonly Change[], revisions: Iterable<number>): void {
    for (const change of changes) this.#unresolved.push(change);
    this.add([], revisions);
  }

  /** Returns whether the edges of all changes are known. */
  resolveSlice(affectedBy: (changes: readonly Change[]) => Iterable<string>, slice: TimeSlice): boolean {
    while (this.#resolved < this.#unresolved.length) {
      if (slice.isOver) return false;
      const step = this.#unresolved.slice(this.#resolved, this.#resolved + CHANGES_PER_STEP);
      this.#resolved += step.length;
      for (const edgeId of affectedBy(step)) this.#waiting.add(edgeId);
    }
    return true;
  }

  /** A later change has already updated the edge. Returns the discarded compilation. */
  overtaken(edgeId: string): CompiledEdge | undefined {
    this.#waiting.delete(edgeId);
    const compiled = this.compiled.get(edgeId);
    this.compiled.delete(edgeId);
    return compiled;
  }

  /** Returns whether all edges are compiled. */
  slice(compile: (edgeId: string) => CompiledEdge, slice: TimeSlice): boolean {
    for (const edgeId of this.#waiting) {
      if (slice.isOver) return false;
      this.#waiting.delete(edgeId);
      this.compiled.set(edgeId, compile(edgeId));
    }
    return true;
  }

  finish(): void {
    this.#done.resolve();
  }
}
