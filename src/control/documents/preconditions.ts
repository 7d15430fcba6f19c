import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Expectation, RecordKey, StoredRecord } from '../../store/store.ts';
import type { OperationRequest, OperationResult } from '../resources/operation.ts';
import type { CompiledResource } from './catalog.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors } from './errors.ts';
import { documentsOf, highestRevision } from './renderer.ts';

type Conditions = Pick<OperationRequest, 'ifMatch' | 'ifNoneMatch'>;

/**
 * `If-Match` on a resource: its ETag must be listed, and every document behind the ETag must still be in the store when
 * the write is applied. `If-None-Match`: it must not be listed. Returns the expectations; throws 412.
 */
export function expectMatch(
  { ifMatch, ifNoneMatch }: Conditions,
  compiled: CompiledResource,
  record: StoredRecord,
  reader: RecordReader,
): readonly Expectation[] {
  if (ifNoneMatch !== null && isListed(ifNoneMatch, highestRevision(compiled, record, reader))) throw alreadyThere();
  if (ifMatch === null || ifMatch === 'any') return [];
  if (!isListed(ifMatch, highestRevision(compiled, record, reader))) throw preconditionFailed();
  return documentsOf(compiled, record, reader).map((document) => ({
    kind: document.kind,
    id: document.id,
    revision: document.record?.revision ?? 'absent',
  }));
}

/** The same for a module, which is one document. `*` requires that it exists; in `If-None-Match`, that it does not. */
export function expectModuleMatch(
  { ifMatch, ifNoneMatch }: Conditions,
  key: RecordKey,
  record: StoredRecord | undefined,
): readonly Expectation[] {
  if (ifNoneMatch !== null && record !== undefined && isListed(ifNoneMatch, record.revision)) throw alreadyThere();
  if (ifMatch !== null && (record === undefined || !isListed(ifMatch, record.revision))) throw preconditionFailed();
  return ifMatch === null && ifNoneMatch === null ? [] : [{ ...key, revision: record?.revision ?? 'absent' }];
}

function isListed(listed: readonly number[] | 'any', revision: number): boolean {
  return listed === 'any' || listed.includes(revision);
}

function preconditionFailed(): Error {
  return documentErrors.create(
    'ERR_POSTERN_PRECONDITION_FAILED',
    'the resource has changed since the ETag in If-Match was read: read it again, then repeat the change with the new ETag',
  );
}

function alreadyThere(): Error {
  return documentErrors.create(
    'ERR_POSTERN_PRECONDITION_FAILED',
    'the resource exists with an ETag that If-None-Match excludes (* excludes every one): nothing was changed. Read it, or send the request without If-None-Match',
  );
}

export function asSeen({ kind, id, revision }: StoredRecord): Expectation {
  return { kind, id, revision };
}

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
