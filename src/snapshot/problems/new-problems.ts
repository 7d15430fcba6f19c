import type { EdgeSnapshot, ModuleProblem } from '../edge-snapshot.ts';

export interface RouteProblem extends ModuleProblem {
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
