import { rfc3339 } from '../../kit/clock.ts';
import { fieldName, pointerTo } from '../../kit/schema/field-problem.ts';
import { PENDING_CHANGE, type PendingChange } from '../../store/own-records.ts';
import type { CommitRefusal, RecordKey, Reference, StoredRecord } from '../../store/store.ts';
import { resourceErrors } from '../resources/errors.ts';
import { type Catalog, type CompiledResource, ownerIdOf } from './catalog.ts';
import { pendingNow } from './confirmation/pending-change.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors } from './errors.ts';
import type { PlacedPut, PlacedWriteSet } from './record-puts.ts';
import { unknownReference } from './reference-fields.ts';

/** Maps a refusal of the store to the client's error. Conflicts are left to the caller, which may retry. */
export function refusalError(
  refusal: Exclude<CommitRefusal, { reason: 'conflict' | 'idempotency_used' }>,
  { puts = [] }: PlacedWriteSet,
  { catalog, replica }: Pick<DocumentsContext, 'catalog' | 'replica'>,
): Error {
  switch (refusal.reason) {
    case 'revision_moved':
      return documentErrors.create(
        'ERR_POSTERN_PRECONDITION_FAILED',
        `the configuration has changed since the expected revision: it is at revision ${refusal.revision} now. Read it again, then repeat the change`,
        { details: { revision: String(refusal.revision) } },
      );
    case 'parent_missing':
      return notFound(catalog, catalog.kindOfId(refusal.parent) ?? 'resource', refusal.parent);
    case 'reference_missing':
      return unknownReference(pathOfReference(refusal.reference, puts), refusal.reference.to.id, [
        refusal.reference.to.kind,
      ]);
    case 'unique_key_taken': {
      const { scope, key } = refusal.uniqueKey;
      const claims = puts.flatMap((put) => put.uniqueKeys);
      const field = claims.find((claim) => claim.scope === scope && claim.key === key)?.field ?? '';
      return documentErrors.create(
        'ERR_POSTERN_ALREADY_EXISTS',
        `${field} names "${shownKey(key)}", which ${nameOf(refusal.by)} already uses: choose another value, or change that resource first`,
        { details: { field: pointerTo('', field), held_by: refusal.by.id, value: shownKey(key) } },
      );
    }
    case 'still_referenced': {
      const referrers = refusal.by.map((by) => `${nameOf(by)} (${by.field})`).join(', ');
      return documentErrors.create(
        'ERR_POSTERN_IN_USE',
        `${refusal.key.id} is still in use by ${referrers}: change or delete that first`,
        { details: { referred_by: refusal.by.map((by) => ownerIdOf(by.id)).join(',') } },
      );
    }
    case 'cycle': {
      const { id, kind } = refusal.key;
      const path = puts.find((put) => put.id === id && put.kind === kind)?.references[0]?.path ?? '';
      return documentErrors.create(
        'ERR_POSTERN_REFERENCE_CYCLE',
        `${fieldName(path)} would make ${id} refer to itself: remove the backend that refers to it`,
        { details: { field: path, id } },
      );
    }
    case 'change_pending':
      return changePending(refusal.revision, refusal.key, pendingNow({ replica }));
    case 'not_settled':
      return notPending(refusal.why);
    case 'last_one':
      return documentErrors.create(
        'ERR_POSTERN_LAST_API_KEY',
        'this is the last API key with all scopes: create another one with all scopes first, otherwise nobody could manage this server',
      );
  }
}

function changePending(revision: number, key: RecordKey | null, pending: PendingChange | null): Error {
  const ends = `confirm it with POST /changes/${revision}/confirm, take it back with POST /changes/${revision}/revert, or wait until it is reverted`;
  // Another node may have just made it.
  const known = pending?.revision === revision ? pending : null;
  const author = known?.author?.['id'];
  const by = typeof author === 'string' && author !== '' ? ` (made by ${author})` : '';
  const until = known === null ? '' : ` until ${rfc3339(known.confirmByMs)}`;
  const why =
    key === null
      ? `revision ${revision} still waits for its confirmation${until}${by}, and only one change can wait at a time`
      : `${pendingPart(key)} revision ${revision}, which waits for its confirmation${until}${by} and may be reverted`;
  return documentErrors.create('ERR_POSTERN_CHANGE_PENDING', `${why}: ${ends}`, {
    details: {
      revision: String(revision),
      ...(by !== '' && { author_id: author as string }),
      ...(known !== null && { confirm_by: rfc3339(known.confirmByMs) }),
    },
  });
}

function pendingPart(key: RecordKey): string {
  // A unique key that the change released.
  return key.kind === PENDING_CHANGE.kind ? 'a unique value of this write belongs to' : `${nameOf(key)} belongs to`;
}

function notPending(why: 'gone' | 'early' | 'late'): Error {
  const text = {
    gone: 'the change does not wait for a confirmation: it was confirmed or reverted before, or asked for none',
    early: 'the time for the confirmation is not over yet',
    late: 'the time for the confirmation is over, and the server reverts the change now',
  }[why];
  return documentErrors.create(
    'ERR_POSTERN_NOT_PENDING',
    `${text}. "postern changes" and GET /changes show what happened`,
  );
}

function notFound(catalog: Catalog, kind: string, id: string): Error {
  const resource = catalog.resourceOfKind(kind);
  const list = resource === undefined ? '' : `: GET ${resource.path} lists the existing ones`;
  return resourceErrors.create(
    'ERR_POSTERN_NOT_FOUND',
    `there is no ${kind.replaceAll('_', ' ')} with the id "${id.slice(0, 64)}"${list}`,
    {
      details: { id: id.slice(0, 64) },
    },
  );
}

function pathOfReference({ field, to }: Reference, puts: readonly PlacedPut[]): string {
  const references = puts.flatMap((put) => put.references);
  return references.find((each) => each.field === field && each.to.id === to.id)?.path ?? pointerTo('', field);
}

/** A module's record is named by its owner. */
function nameOf(key: RecordKey): string {
  const [kind, module] = key.kind.split('.');
  const owner = `${(kind ?? '').replaceAll('_', ' ')} ${ownerIdOf(key.id)}`;
  return module === undefined ? owner : `the ${module} module of ${owner}`;
}

/** Keys may be scoped as `owner\nvalue`; people know only the value. */
function shownKey(key: string): string {
  return key.slice(key.lastIndexOf('\n') + 1);
}

/** The record, or 404. */
export function requireRecord(context: DocumentsContext, kind: string, id: string): StoredRecord {
  const record = context.replica.get(kind, id);
  if (record === undefined) throw notFound(context.catalog, kind, id);
  return record;
}

/** The record, if it belongs to the parent in the path: a route of another edge is not found. */
export function requireUnder(
  context: DocumentsContext,
  compiled: CompiledResource,
  id: string,
  parentId: string | null,
): StoredRecord {
  const record = requireRecord(context, compiled.kind, id);
  if (parentId !== null && record.parent !== parentId) throw notFound(context.catalog, compiled.kind, id);
  return record;
}
