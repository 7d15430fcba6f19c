import type { EdgeSnapshot, ModuleProblem } from '../edge-snapshot.ts';
import type { SnapshotListener } from '../snapshots.ts';
import { type NamedProblem, problemLine } from './problem-line.ts';

/** An enabled module that cannot be prepared: its route, or all of its edge, rejects traffic. */
export interface UnpreparedModule extends ModuleProblem {
  readonly edge: string;
  /** Null: a module of the edge itself. */
  readonly route: string | null;
}

/** The served snapshots; `Snapshots` implements it. */
export interface ServedSnapshots {
  all(): Iterable<EdgeSnapshot>;
  onSwap(listener: SnapshotListener): () => void;
}

interface EdgeProblems {
  readonly modules: readonly UnpreparedModule[];
  readonly recordIds: readonly string[];
}

/**
 * Why edges, routes and modules reject traffic, by the id of the record that is read. It contains only those with
 * problems, which are few: a read of any other costs one lookup in a small map. It follows the snapshots inside the
 * write that changed them, so the response to a write already reports its effect.
 */
export class ProblemIndex {
  readonly #problems = new Map<string, readonly NamedProblem[]>();
  readonly #edges = new Map<string, EdgeProblems>();

  follow(snapshots: ServedSnapshots): void {
    for (const edge of snapshots.all()) this.#add(edge);
    snapshots.onSwap((edgeId, now) => {
      this.#remove(edgeId);
      if (now !== null) this.#add(now);
    });
  }

  /** One line of ASCII for the record of an edge, a route or a module; undefined: no problem. */
  lineOf(recordId: string): string | undefined {
    const problems = this.#problems.get(recordId);
    return problems === undefined ? undefined : problemLine(problems);
  }

  all(): readonly UnpreparedModule[] {
    return [...this.#edges.values()].flatMap((edge) => edge.modules);
  }

  #remove(edgeId: string): void {
    for (const recordId of this.#edges.get(edgeId)?.recordIds ?? []) this.#problems.delete(recordId);
    this.#edges.delete(edgeId);
  }

  #add(edge: EdgeSnapshot): void {
    const modules: UnpreparedModule[] = edge.problems.map((problem) => ({ ...problem, edge: edge.id, route: null }));
    for (const route of edge.routes.all) {
      for (const problem of route.problems) modules.push({ ...problem, edge: edge.id, route: route.id });
    }
    if (modules.length === 0) return;
    const byRecord = new Map<string, readonly NamedProblem[]>([[edge.id, modules.map(namedForEdge)]]);
    for (const module of modules) byRecord.set(`${module.route ?? edge.id}.${module.module}`, [module]);
    for (const route of edge.routes.all) {
      const problems = [...edge.problems, ...route.problems];
      if (problems.length > 0) byRecord.set(route.id, problems);
    }
    for (const [recordId, problems] of byRecord) this.#problems.set(recordId, problems);
    this.#edges.set(edge.id, { modules, recordIds: [...byRecord.keys()] });
  }
}

function namedForEdge({ module, message, route }: UnpreparedModule): NamedProblem {
  return route === null ? { module, message } : { module, message, place: route };
}
