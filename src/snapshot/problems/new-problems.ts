import type { EdgeSnapshot, ModuleProblem } from '../edge-snapshot.ts';

export interface RouteProblem extends ModuleProblem {
  readonly route: string;
}

/** Why routes of an edge refuse traffic that did not before, or for another reason: what was said once is not said again. */
export function newProblems(now: EdgeSnapshot | null, before: EdgeSnapshot | null): readonly RouteProblem[] {
  const known = new Map((before?.routes.all ?? []).map((route) => [route.id, route.problem?.message]));
  return (now?.routes.all ?? []).flatMap(({ id, problem }) =>
    problem === null || known.get(id) === problem.message ? [] : [{ route: id, ...problem }],
  );
}
