import type { JsonObject } from '../kit/json.ts';
import type { RecordKey, StoredRecord } from './stored-record.ts';

const PENDING_CHANGE_KIND = 'pending_change';
/** The record of the change that waits for its confirmation: at most one. Its revision is that of the change. */
export const PENDING_CHANGE: RecordKey = { kind: PENDING_CHANGE_KIND, id: 'pending_change' };

export interface PendingChange {
  readonly revision: number;
  /** By the database's clock. */
  readonly confirmByMs: number;
  readonly confirmWithinMs: number;
  /** As the history has it; null for a change without a note. */
  readonly author: JsonObject | null;
  /** Owners of the objects that it deleted. */
  readonly owners: readonly LostOwner[];
  /** What the change itself took rights from. */
  readonly narrowed: readonly NarrowedRecord[];
}

interface NarrowedRecord extends RecordKey {
  /** Fields of its document that the change gave another value. */
  readonly fields: readonly string[];
}

/** A document as it was before the change that waits: the store may return to it. */
export interface EarlierDocument extends RecordKey {
  /** Without its secrets. */
  readonly doc: JsonObject;
  readonly has_secrets: boolean;
}

type Reader = { get(kind: string, id: string): StoredRecord | undefined };

const earlierByKey = new WeakMap<StoredRecord, ReadonlyMap<string, EarlierDocument>>();
const NONE: ReadonlyMap<string, EarlierDocument> = new Map();

/** What the change that waits remembers of its documents, by kind and id with a space between them. */
export function earlierDocuments(reader: Reader): ReadonlyMap<string, EarlierDocument> {
  const pending = reader.get(PENDING_CHANGE.kind, PENDING_CHANGE.id);
  if (pending === undefined) return NONE;
  let found = earlierByKey.get(pending);
  if (found === undefined) {
    const { earlier = [] } = pending.doc as unknown as { readonly earlier?: readonly EarlierDocument[] };
    found = new Map(earlier.map((each) => [`${each.kind} ${each.id}`, each]));
    earlierByKey.set(pending, found);
  }
  return found;
}

/** What a document was before the change that waits, if its kind is one that the change remembers. */
export function earlierDocument(reader: Reader, { kind, id }: RecordKey): JsonObject | null {
  return earlierDocuments(reader).get(`${kind} ${id}`)?.doc ?? null;
}

export interface LostOwner {
  /** Id of the object. */
  readonly id: string;
  readonly owner: string;
  readonly name: string;
}

/** Null: no change waits. */
export function pendingChange(record: StoredRecord | undefined): PendingChange | null {
  if (record === undefined) return null;
  const { confirm_by_ms: confirmByMs, confirm_within_ms: confirmWithinMs } = record.doc as Record<string, never>;
  const { author = null, owners = [], narrowed = [] } = record.doc as unknown as Partial<PendingChange>;
  return {
    revision: record.revision,
    confirmByMs: confirmByMs ?? 0,
    confirmWithinMs: confirmWithinMs ?? 0,
    author,
    owners,
    // Written by an earlier version: without fields.
    narrowed: narrowed.map((each) => ({ ...each, fields: each.fields ?? [] })),
  };
}

/** How a pending change ends: it is confirmed in time, withdrawn by somebody, or reverted when the time is over. */
export interface Settlement {
  readonly revision: number;
  readonly as: 'confirmed' | 'withdrawn' | 'reverted';
}

export type PendingRefusal =
  /** The write concerns a change that waits for its confirmation. `key` null: only one change may wait at a time. */
  | { readonly reason: 'change_pending'; readonly revision: number; readonly key: RecordKey | null }
  /** `gone`: no longer pending. `early`: its time is not over yet. `late`: it can no longer be confirmed. */
  | { readonly reason: 'not_settled'; readonly why: 'gone' | 'early' | 'late'; readonly remainingMs: number };

/** Who applies an object by a file, and under which name: a record of its own beside the object's, deleted with it. */
export const OWNERSHIP_KIND = 'ownership';

/** Different from the object's id: the store knows parents by id alone. */
export function ownershipId(objectId: string): string {
  return `${objectId}.owner`;
}

export const MAIL_KIND = 'mail';
export const CONSOLE_SESSION_KIND = 'console_session';

/**
 * Records that are no part of what a change did, although they are written with it. Who applies an object: an undo
 * neither takes it back nor fails because of it. Mails would outlive their links and codes in the history. Sessions of
 * the console that ended do not come back.
 */
export const KINDS_WITHOUT_HISTORY: ReadonlySet<string> = new Set([OWNERSHIP_KIND, MAIL_KIND, CONSOLE_SESSION_KIND]);
