import { mapInSlices } from '../../../lib/async/map-in-slices.ts';
import { isJsonObject, type JsonObject } from '../../../lib/json.ts';
import { storeErrors } from '../../errors.ts';
import type { ChangeNote } from '../../history-store.ts';
import type { OutboxEvent, RecordKey, RecordPut, Secrets, StoredRecord, WriteSet } from '../../store.ts';
import { STORE_LANE } from '../../store-lane.ts';
import type { CallerTime } from '../statements/store-time.ts';
import type { Sealing } from './recent-seals.ts';
import type { SealedEvent, SealedNote, SealedPut, SealedRecord, SealedWriteSet } from './sealed-write-set.ts';

/** A large one in slices: each record takes some microseconds, and each with secrets some more. */
export async function sealInSlices(writeSet: WriteSet, keyring: Sealing, time: CallerTime): Promise<SealedWriteSet> {
  const { puts = [], events = [] } = writeSet;
  return {
    ...sealWriteSet({ ...writeSet, puts: [], events: [] }, keyring, time),
    puts: await mapInSlices(STORE_LANE, puts, (put) => sealPut(put, keyring)),
    events: await mapInSlices(STORE_LANE, events, sealEvent),
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
