import type { ProblemIndex } from './problem-index.ts';
import { problemLine } from './problem-line.ts';

/** Each module that rejects all traffic, with its edge or route and the line that the API's header has. */
export function* unpreparedModules(
  index: ProblemIndex,
): Generator<{ readonly ownerId: string; readonly module: string; readonly line: string }> {
  for (const problem of index.all())
    yield { ownerId: problem.route ?? problem.edge, module: problem.module, line: problemLine([problem]) };
}
