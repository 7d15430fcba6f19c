import type { RecordReader } from '../replica/record-reader.ts';
import type { OperationRequest } from '../resources/operation.ts';
import type { Expectation, StoredRecord } from '../store/store.ts';
import type { CompiledModule, CompiledResource } from './compiled.ts';
import { documentErrors } from './errors.ts';
import { documentsOf, highestRevision } from './renderer.ts';

/**
 * `If-Match` on a resource: its ETag must be listed, and every document behind the ETag must still be in the store when
 * the write is applied. Returns the expectations; throws 412.
 */
export function expectMatch(
  ifMatch: OperationRequest['ifMatch'],
  compiled: CompiledResource,
  record: StoredRecord,
  reader: RecordReader,
): readonly Expectation[] {
  if (ifMatch === null || ifMatch === 'any') return [];
  if (!ifMatch.includes(highestRevision(compiled, record, reader))) throw preconditionFailed();
  return documentsOf(compiled, record, reader).map((document) => ({
    kind: document.kind,
    id: document.id,
    revision: document.record?.revision ?? 'absent',
  }));
}

/** The same for a module, which is one document. `*` requires that it exists. */
export function expectModuleMatch(
  ifMatch: OperationRequest['ifMatch'],
  module: CompiledModule,
  record: StoredRecord | undefined,
): readonly Expectation[] {
  if (ifMatch === null) return [];
  if (record === undefined || (ifMatch !== 'any' && !ifMatch.includes(record.revision))) throw preconditionFailed();
  return [{ kind: module.kind, id: record.id, revision: record.revision }];
}

function preconditionFailed(): Error {
  return documentErrors.create(
    'ERR_POSTERN_PRECONDITION_FAILED',
    'the resource has changed since the ETag in If-Match was read: read it again, then repeat the change with the new ETag',
  );
}
