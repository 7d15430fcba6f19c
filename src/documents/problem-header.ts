import type { OperationResult } from '../resources/operation.ts';
import type { DocumentsContext } from './documents-context.ts';

/** The wire documents are fixed to the field, so what is wrong with an edge, a route or a module is said beside them. */
export const PROBLEM_HEADER = 'postern-problem';

export function withProblem(
  result: OperationResult,
  recordId: string,
  { problemOf }: Pick<DocumentsContext, 'problemOf'>,
): OperationResult {
  const problem = problemOf(recordId);
  return problem === undefined ? result : { ...result, headers: { ...result.headers, [PROBLEM_HEADER]: problem } };
}
