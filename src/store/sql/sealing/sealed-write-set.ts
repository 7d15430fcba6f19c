import type { EndedPerson } from '../../identity-store.ts';
import type { Settlement } from '../../pending-change.ts';
import type {
  CommitRefusal,
  Expectation,
  IdempotencyRecord,
  LoginChange,
  RecordDelete,
  RecordKey,
  RecordPut,
} from '../../store.ts';

/** A write set as passed to an engine: documents as text, secrets sealed, so that no plain secret leaves the caller. */
export interface SealedWriteSet {
  readonly nowMs: number;
  readonly isDatabaseTime: boolean;
  /** Null: the change stays without a confirmation. */
  readonly confirmWithinMs: number | null;
  readonly remembers: readonly string[];
  readonly settles: Settlement | null;
  readonly expectRevision: number | null;
  readonly isDryRun: boolean;
  /** Null: the change has no history. */
  readonly note: SealedNote | null;
  readonly expect: readonly Expectation[];
  readonly puts: readonly SealedPut[];
  readonly deletes: readonly RecordDelete[];
  readonly touches: readonly RecordKey[];
  readonly concerns: readonly RecordKey[];
  readonly keepAtLeastOne: readonly string[];
  readonly events: readonly SealedEvent[];
  readonly idempotency: IdempotencyRecord | null;
  readonly endsPeople: readonly EndedPerson[];
}

export interface SealedNote {
  readonly author: string;
  /** Id of the API key; empty for the server itself. */
  readonly authorId: string;
  readonly message: string;
}

export interface SealedPut extends Pick<RecordPut, 'kind' | 'id' | 'parent' | 'uniqueKeys' | 'references'> {
  readonly doc: string;
  readonly secrets: string | null;
  readonly isAcyclic: boolean;
  /** Null: it lets nothing more flow. */
  readonly armedAsOf: number | null;
  readonly isRevocation: boolean;
}

export interface SealedEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAtMs: number;
  readonly payload: string;
  readonly isUncertain?: boolean;
}

export interface SealedRecord extends RecordKey {
  readonly parent: string | null;
  readonly revision: number;
  readonly doc: string;
  readonly secrets: string | null;
}

export type AppliedChange =
  /** The caller still has the record: returning it would only cost time. */
  | { readonly op: 'put'; readonly key: RecordKey }
  | { readonly op: 'touch'; readonly record: SealedRecord }
  | { readonly op: 'delete'; readonly key: RecordKey };

export type ApplyResult =
  | {
      readonly ok: true;
      readonly revision: number;
      readonly changes: readonly AppliedChange[];
      /** Number of deliveries that its events created. */
      readonly enqueued: number;
      /** Types of the written events. */
      readonly recorded: readonly string[];
      /** Logins on routes that it has ended. */
      readonly logins: readonly LoginChange[];
    }
  | Refused;

export type Refused = { readonly ok: false } & CommitRefusal;

/** Identity of a record in a map. NUL cannot occur in a kind. */
export function keyText({ kind, id }: RecordKey): string {
  return `${kind}\0${id}`;
}
