import type { RecordKey } from '../store.ts';
import { enqueueDeliveries } from './delivery-enqueue.ts';
import { insertEvents } from './event-rows.ts';
import { writeIdempotency } from './idempotency-rows.ts';
import { judgeWriteSet } from './judge-write-set.ts';
import type { Judged } from './judged.ts';
import { followEventRecords } from './lane-rows.ts';
import { readRecords } from './record-rows.ts';
import { readRevision, takeRevision } from './revision-rows.ts';
import {
  type AppliedChange,
  type ApplyResult,
  keyText,
  type SealedPut,
  type SealedRecord,
  type SealedWriteSet,
} from './sealed-write-set.ts';
import { insertRows, type Program, queryForTuples } from './statement.ts';

/**
 * One write-set, inside a transaction that already holds the writers' lock: judged whole, then written whole.
 * Deletes come first, then puts, then touches; so a record that is deleted and put loses what was below it.
 */
export function* applyWriteSet(writeSet: SealedWriteSet): Program<ApplyResult> {
  const judged = yield* judgeWriteSet(writeSet);
  if (!judged.ok) return judged;
  if (!isWriting(writeSet)) return { ok: true, revision: yield* readRevision(), changes: [], enqueued: 0 };

  const revision = yield* takeRevision();
  yield* deleteRecords(judged);
  yield* insertEvents(writeSet.events, revision);
  // Between the two: a subscription that goes hears no more of it, and one that comes or changes does so for the next event.
  const enqueued = yield* enqueueDeliveries(writeSet.events);
  yield* putRecords(judged, revision);
  const touched = yield* touchRecords(writeSet.touches, judged, revision);
  const changes = changesOf(judged, touched);
  yield* insertChanges(changes, revision);
  yield* followEventRecords(judged, writeSet.nowMs);
  if (writeSet.idempotency !== null) yield* writeIdempotency(writeSet.idempotency);
  return { ok: true, revision, changes, enqueued };
}

function isWriting({ puts, deletes, touches, events, idempotency }: SealedWriteSet): boolean {
  return puts.length + deletes.length + touches.length + events.length > 0 || idempotency !== null;
}

function* deleteRecords({ gone, puts, revisions }: Judged): Program<void> {
  const goneKeys = [...gone.values()].map(({ kind, id }) => [kind, id]);
  yield* queryForTuples('DELETE FROM records WHERE (kind, id) IN (VALUES %s)', goneKeys);
  const replaced = [...puts]
    .filter(([key]) => revisions.has(key) && !gone.has(key))
    .map(([, { kind, id }]) => [kind, id]);
  const released = [...goneKeys, ...replaced];
  yield* queryForTuples('DELETE FROM unique_keys WHERE (kind, id) IN (VALUES %s)', released);
  yield* queryForTuples('DELETE FROM record_references WHERE (from_kind, from_id) IN (VALUES %s)', released);
}

function* putRecords({ puts }: Judged, revision: number): Program<void> {
  const records = [...puts.values()];
  yield* insertRows(
    'records',
    ['kind', 'id', 'parent', 'revision', 'doc', 'secrets'],
    records.map(({ kind, id, parent, doc, secrets }) => [kind, id, parent, revision, doc, secrets]),
    `ON CONFLICT (kind, id) DO UPDATE SET parent = excluded.parent, revision = excluded.revision, doc = excluded.doc,
      secrets = excluded.secrets`,
  );
  yield* insertRows('unique_keys', ['scope', 'key', 'kind', 'id'], records.flatMap(uniqueKeyRows));
  yield* insertRows(
    'record_references',
    ['from_kind', 'from_id', 'position', 'field', 'to_kind', 'to_id'],
    records.flatMap(({ kind, id, references }) =>
      references.map(({ field, to }, position) => [kind, id, position, field, to.kind, to.id]),
    ),
  );
}

/** A record may name one key twice; the table has it once. */
function uniqueKeyRows({ kind, id, uniqueKeys }: SealedPut): string[][] {
  const distinct = new Map(uniqueKeys.map(({ scope, key }) => [`${scope}\0${key}`, [scope, key, kind, id]]));
  return [...distinct.values()];
}

function* touchRecords(touches: readonly RecordKey[], { puts }: Judged, revision: number): Program<SealedRecord[]> {
  const distinct = new Map(touches.map((key) => [keyText(key), key]));
  const keys = [...distinct].filter(([key]) => !puts.has(key)).map(([, key]) => key);
  if (keys.length === 0) return [];
  yield* queryForTuples(
    // A counter that the lock keeps still: spares a parameter in front of the list.
    "UPDATE records SET revision = (SELECT value FROM counter WHERE name = 'revision') WHERE (kind, id) IN (VALUES %s)",
    keys.map(({ kind, id }) => [kind, id]),
  );
  const records = yield* readRecords(keys);
  return records.map((record) => ({ ...record, revision }));
}

function changesOf({ gone, puts }: Judged, touched: readonly SealedRecord[]): AppliedChange[] {
  const deleted = [...gone].filter(([key]) => !puts.has(key)).map(([, key]) => key);
  return [
    ...deleted.map((key): AppliedChange => ({ op: 'delete', key })),
    ...[...puts.values()].map(({ kind, id }): AppliedChange => ({ op: 'put', key: { kind, id } })),
    ...touched.map((record): AppliedChange => ({ op: 'touch', record })),
  ];
}

function* insertChanges(changes: readonly AppliedChange[], revision: number): Program<void> {
  const rows = changes.map((change, position) => {
    const { kind, id } = change.op === 'touch' ? change.record : change.key;
    return [revision, position, kind, id, change.op === 'delete' ? 'delete' : 'put'];
  });
  yield* insertRows('changes', ['revision', 'position', 'kind', 'id', 'op'], rows);
}
