import { mapInSlices, SliceQueue } from '../../kit/async/slices.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { storeErrors } from '../errors.ts';
import type { ChangeNote } from '../history-store.ts';
import type { EndedPerson } from '../identity-store.ts';
import type { Keyring } from '../keyring.ts';
import type { Settlement } from '../own-records.ts';
import type {
  CommitRefusal,
  Expectation,
  IdempotencyRecord,
  LoginChange,
  OutboxEvent,
  RecordDelete,
  RecordKey,
  RecordPut,
  Secrets,
  StoredRecord,
  WriteSet,
} from '../store.ts';
import type { CallerTime } from './statement.ts';

/** A large one in slices: each record takes some microseconds, and each with secrets some more. */
export async function sealInSlices(writeSet: WriteSet, keyring: Sealing, time: CallerTime): Promise<SealedWriteSet> {
  const { puts = [], events = [] } = writeSet;
  return {
    ...sealWriteSet({ ...writeSet, puts: [], events: [] }, keyring, time),
    puts: await mapInSlices(STORE_QUEUE, puts, (put) => sealPut(put, keyring)),
    events: await mapInSlices(STORE_QUEUE, events, sealEvent),
  };
}

export function sealWriteSet(writeSet: WriteSet, keyring: Sealing, time: CallerTime): SealedWriteSet {
  const { expect = [], puts = [], deletes = [], touches = [], keepAtLeastOne = [], events = [] } = writeSet;
  const { concerns = [], remembers = [] } = writeSet;
  return {
    nowMs: time.nowMs,
    isDatabaseTime: time.isDatabaseTime,
    confirmWithinMs: writeSet.confirmWithinMs ?? null,
    settles: writeSet.settles ?? null,
    expectRevision: writeSet.expectRevision ?? null,
    isDryRun: writeSet.isDryRun ?? false,
    note: writeSet.note === undefined ? null : sealNote(writeSet.note),
    expect,
    deletes,
    touches,
    concerns,
    remembers,
    keepAtLeastOne,
    puts: puts.map((put) => sealPut(put, keyring)),
    events: events.map(sealEvent),
    idempotency: writeSet.idempotency ?? null,
    endsPeople: writeSet.endsPeople ?? [],
  };
}

function sealPut(put: RecordPut, keyring: Sealing): SealedPut {
  const { kind, id, parent, doc, secrets, uniqueKeys, references } = put;
  const { isAcyclic = false, armedAsOf = null, isRevocation = false } = put;
  return {
    kind,
    id,
    parent,
    uniqueKeys,
    references,
    isAcyclic,
    armedAsOf,
    isRevocation,
    doc: JSON.stringify(doc),
    secrets: sealSecrets({ kind, id }, secrets, keyring),
  };
}

function sealNote({ author, message }: ChangeNote): SealedNote {
  const id = author['id'];
  return { author: JSON.stringify(author), authorId: typeof id === 'string' ? id : '', message };
}

export function openRecord(record: SealedRecord, keyring: Sealing): StoredRecord {
  return {
    kind: record.kind,
    id: record.id,
    parent: record.parent,
    revision: record.revision,
    doc: parseObject(record.doc, record),
    secrets: openSecrets(record, record.secrets, keyring),
  };
}

export function sealEvent(event: OutboxEvent): SealedEvent {
  return { ...event, payload: JSON.stringify(event.payload) };
}

export function openEvent({ id, type, createdAtMs, payload }: SealedEvent): OutboxEvent {
  return { id, type, createdAtMs, payload: parseObject(payload) };
}

/** All secrets of a row as one text: hides how many there are, and how long each is. */
export function sealSecrets(key: RecordKey, secrets: Secrets | null, keyring: Sealing): string | null {
  return secrets === null ? null : keyring.seal(JSON.stringify(secrets), sealContext(key));
}

export function openSecrets(key: RecordKey, sealed: string | null, keyring: Sealing): Secrets | null {
  return sealed === null ? null : (parseObject(keyring.open(sealed, sealContext(key))) as Secrets);
}

export function sealContext({ kind, id }: RecordKey): string {
  return `${kind}/${id}`;
}

/** The store wrote what it reads; anything else is damage, and the message says so. */
export function parseObject(text: string, record: RecordKey | null = null): JsonObject {
  let value: unknown;
  let cause: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    cause = error;
  }
  if (isJsonObject(value)) return value;
  const name = record === null ? 'a row' : `the record ${record.kind} ${record.id}`;
  throw storeErrors.create('ERR_POSTERN_STORE_CORRUPT', `${name} of the store does not contain a JSON object`, {
    cause,
  });
}

/** More than are sealed until the history is linked, unless a change is large. */
const MAX_REMEMBERED = 1_000;

export type Sealing = Pick<Keyring, 'seal' | 'open'>;

/**
 * Remembers what was sealed in the last moment. The history opens every secret again to link the entry of its change,
 * and opening one costs as much as the rest of the link.
 */
export class RecentSeals implements Sealing {
  readonly #keyring: Sealing;
  /** By the sealed text, with its row: a text that was moved to another row does not open there. */
  readonly #texts = new Map<string, { readonly context: string; readonly text: string }>();

  constructor(keyring: Sealing) {
    this.#keyring = keyring;
  }

  seal(text: string, context: string): string {
    const sealed = this.#keyring.seal(text, context);
    if (this.#texts.size < MAX_REMEMBERED) this.#texts.set(sealed, { context, text });
    return sealed;
  }

  open(sealed: string, context: string): string {
    const known = this.#texts.get(sealed);
    return known?.context === context ? known.text : this.#keyring.open(sealed, context);
  }

  /** Secrets stay in memory no longer than they are needed. */
  forget(): void {
    this.#texts.clear();
  }
}

/** Large write sets and changes: long answers of the API do not hold them up. */
export const STORE_QUEUE = new SliceQueue();

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

interface SealedNote {
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

/** The lists of a write set that grow with the number of writes. */
export const LISTS = ['expect', 'puts', 'deletes', 'touches', 'events'] as const;

export type ListsOfWriteSet = Pick<SealedWriteSet, (typeof LISTS)[number]>;

/** Handled in one turn up to this many writes, which takes a few milliseconds. */
const MAX_SMALL = 250;

/** Whether handling it in one turn would delay others. */
export function isLargeWriteSet(writeSet: { readonly [Name in keyof ListsOfWriteSet]?: readonly unknown[] }): boolean {
  return LISTS.some((name) => (writeSet[name]?.length ?? 0) > MAX_SMALL);
}
