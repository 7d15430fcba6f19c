import type { RecordReader } from '../replica/record-reader.ts';
import type { OperationRequest } from '../resources/operation.ts';
import type { Expectation, RecordKey, StoredRecord } from '../store/store.ts';
import type { CompiledResource } from './compiled.ts';
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
