import { Gauge, type Registry } from 'prom-client';
import type { EdgeSnapshot, ModuleProblem } from './edge-snapshot.ts';
import type { SnapshotListener } from './snapshots.ts';

interface NamedProblem {
  readonly module: string;
  readonly message: string;
  /** Where the problem is, if not at the requested record itself. */
  readonly place?: string;
}

/** Many clients and proxies accept 8 KB of headers in all: this leaves room for the others. */
const MAX_LINE_LENGTH = 1000;
const MAX_MESSAGE_LENGTH = 300;

/** `oidc: first problem; backend: second problem`, as one bounded line of visible ASCII, fit for a header. */
export function problemLine(problems: readonly NamedProblem[]): string {
  const parts: string[] = [];
  let length = 0;
  for (const { module, message, place } of problems) {
    const part = `${module}: ${headerText(message)}${place === undefined ? '' : ` (${place})`}`;
    length += part.length + 2;
    if (parts.length > 0 && length > MAX_LINE_LENGTH)
      return `${parts.join('; ')}; and ${problems.length - parts.length} more`;
    parts.push(part);
  }
  return parts.join('; ');
}

function headerText(message: string): string {
  const line = message
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[^\x20-\x7e]/g, '?');
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH - 3)}...` : line;
}

/** An enabled module that cannot be prepared: its route, or all of its edge, rejects traffic. */
interface UnpreparedModule extends ModuleProblem {
  readonly edge: string;
  /** Null: a module of the edge itself. */
  readonly route: string | null;
}

/** The served snapshots; `Snapshots` implements it. */
interface ServedSnapshots {
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

interface RouteProblem extends ModuleProblem {
  readonly route: string;
}

/**
 * Why routes of an edge now reject traffic, if they did not before or did for another reason: a known problem is not
 * repeated.
 */
export function newProblems(now: EdgeSnapshot | null, before: EdgeSnapshot | null): readonly RouteProblem[] {
  const known = new Map((before?.routes.all ?? []).map((route) => [route.id, route.problem?.message]));
  return (now?.routes.all ?? []).flatMap(({ id, problem }) =>
    problem === null || known.get(id) === problem.message ? [] : [{ route: id, ...problem }],
  );
}

/** One sample per enabled module that cannot be prepared, so that an alert can name it. */
export function addProblemMetrics(registry: Registry, problems: Pick<ProblemIndex, 'all'>): void {
  new Gauge({
    name: 'postern_unprepared_modules',
    help: 'Enabled modules that cannot be prepared. Their route rejects all traffic; if the route label is empty, the whole edge does.',
    labelNames: ['edge', 'route', 'module', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const problem of problems.all()) {
        const { edge, route, module } = problem;
        this.labels(edge, route ?? '', module, problemLine([problem]).slice(module.length + 2)).set(1);
      }
    },
  });
}

/** Each module that rejects all traffic, with its edge or route and the line that the API's header has. */
export function* unpreparedModules(
  index: ProblemIndex,
): Generator<{ readonly ownerId: string; readonly module: string; readonly line: string }> {
  for (const problem of index.all())
    yield { ownerId: problem.route ?? problem.edge, module: problem.module, line: problemLine([problem]) };
}
