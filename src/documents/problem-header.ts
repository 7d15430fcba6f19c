import type { OperationResult } from '../resources/operation.ts';
import type { DocumentsContext } from './documents-context.ts';

/**
 * The response bodies have a fixed set of fields, so a problem of an edge, a route or a module is reported in a header.
 */
const PROBLEM_HEADER = 'postern-problem';

export function withProblem(
  result: OperationResult,
  recordId: string,
  { problemOf }: Pick<DocumentsContext, 'problemOf'>,
): OperationResult {
  const problem = problemOf(recordId);
  return problem === undefined ? result : { ...result, headers: { ...result.headers, [PROBLEM_HEADER]: problem } };
}
