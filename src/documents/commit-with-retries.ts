import { pointerTo } from '../lib/schema/field-problem.ts';
import type { OperationRequest } from '../resources/operation.ts';
import type { ReferredReader } from '../resources/resource.ts';
import type { Change, RecordKey, StoredRecord } from '../store/store.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors, invalidBody } from './errors.ts';
import { noteOf } from './history/change-note.ts';
import { IdempotencyUsed } from './idempotent-creates.ts';
import type { PlacedWriteSet } from './record-puts.ts';
import { unknownReference } from './reference-fields.ts';
import { refusalError } from './refusal-error.ts';
import { holdSecretsOfRevert, refuseMovedSecrets } from './upstream-secrets.ts';

/** A writer that loses this many races in a row gets an error instead of waiting longer. */
const MAX_ATTEMPTS = 25;

export interface CommitAttempts {
  /** Builds the write set from the replica's state; called again after a conflict. */
  attempt(): PlacedWriteSet;
  /** Where the body names the parent, a missing parent is reported for this field. */
  readonly parentField?: string | null;
  readonly request: OperationRequest;
}

export interface Committed {
  readonly revision: number;
  readonly changes: readonly Change[];
}

/**
 * The record as this write left it; undefined when the write did not change it. The replica may already show what the
 * next writer of the same group commit made of it, or that it was deleted.
 */
export function writtenRecord({ changes }: Committed, { kind, id }: RecordKey): StoredRecord | undefined {
  for (const change of changes) {
    if (change.op === 'put' && change.record.kind === kind && change.record.id === id) return change.record;
  }
  return undefined;
}

/** Commits the result of `attempt`, and retries after a refresh when the replica's state was stale. */
export async function commitWithRetries(context: DocumentsContext, attempts: CommitAttempts): Promise<Committed> {
  const note = noteOf(attempts.request);
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const writeSet = attempts.attempt();
    refuseTogether(writeSet, context);
    refuseMovedSecrets(writeSet, attempts.request, context);
    const expect = [...(writeSet.expect ?? []), ...holdSecretsOfRevert(writeSet, context)];
    const result = await context.store.commit({ ...writeSet, expect, note });
    if (result.ok) {
      // A change is served before its 2xx response.
      await context.served(result.revision);
      return { revision: result.revision, changes: result.changes };
    }
    switch (result.reason) {
      case 'conflict':
        await context.replica.refresh();
        break;
      case 'idempotency_used':
        throw new IdempotencyUsed(result.existing);
      case 'parent_missing':
        if (typeof attempts.parentField === 'string') {
          throw unknownReference(pointerTo('', attempts.parentField), result.parent, [
            context.catalog.kindOfId(result.parent) ?? 'resource',
          ]);
        }
        throw refusalError(result, writeSet, context);
      case 'cycle':
      case 'last_one':
      case 'revision_moved':
      case 'reference_missing':
      case 'still_referenced':
      case 'unique_key_taken':
      case 'change_pending':
      case 'not_settled':
        throw refusalError(result, writeSet, context);
    }
  }
  throw documentErrors.create(
    'ERR_POSTERN_TOO_MANY_CONFLICTS',
    'other requests kept changing this resource, and nothing was applied: send the request again',
  );
}

/** What a record and those that it refers to, directly or not, may not be together. */
function refuseTogether({ puts = [] }: PlacedWriteSet, { catalog, replica }: DocumentsContext): void {
  const written = new Map(puts.map((put) => [put.id, put]));
  const read: ReferredReader = (id) => {
    const kind = catalog.kindOfId(id);
    const doc = kind === null ? undefined : (written.get(id) ?? replica.get(kind, id))?.doc;
    return kind === null || doc === undefined ? null : { kind, doc };
  };
  for (const { kind, id } of puts) {
    const problems = catalog.compiled.get(kind)?.resource.checkReferred?.(id, read) ?? [];
    if (problems.length > 0) throw invalidBody(problems);
  }
}
