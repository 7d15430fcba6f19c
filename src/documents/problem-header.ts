import type { OperationResult } from '../resources/operation.ts';
import type { StoredRecord } from '../store/store.ts';
import type { DocumentsContext } from './documents-context.ts';

/**
 * The response bodies have a fixed set of fields, so a problem of an edge, a route or a module is reported in a header.
 */
const PROBLEM_HEADER = 'postern-problem';
/** Traffic is served, but not as configured, such as with a certificate that clients do not trust. */
const WARNING_HEADER = 'postern-warning';

export function withProblem(
  result: OperationResult,
  recordId: string,
  { problemOf }: Pick<DocumentsContext, 'problemOf'>,
): OperationResult {
  const problem = problemOf(recordId);
  return problem === undefined ? result : { ...result, headers: { ...result.headers, [PROBLEM_HEADER]: problem } };
}

export function withWarning(
  result: OperationResult,
  record: StoredRecord,
  context: Pick<DocumentsContext, 'warningOf'>,
): OperationResult {
  const warning = context.warningOf(record);
  return warning === undefined ? result : { ...result, headers: { ...result.headers, [WARNING_HEADER]: warning } };
}
