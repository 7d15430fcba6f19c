import type { RecordKey } from '../../store.ts';
import { followEventRecords, movesLanes } from '../deliveries/lane-rows.ts';
import { changesDocuments, historyRows, readBefore } from '../history-store.ts';
import { endPeople } from '../identity-store.ts';
import {
  type AppliedChange,
  type ApplyResult,
  keyText,
  type Refused,
  type SealedPut,
  type SealedRecord,
  type SealedWriteSet,
} from '../seal.ts';
import { executeForTuples, insertRows, type Program, queryForTuples } from '../statement.ts';
import { WriteGroup } from '../write-group.ts';
import { releaseRevoked } from './judge-references.ts';
import { judgeWriteSet } from './judge-write-set.ts';
import { explainedByPending, holdRecords, judgePending, judgeSettlement, readNeeds } from './pending-rows.ts';
import { type Judged, RECORD_COLUMNS, recordOf, writeIdempotency } from './record-rows.ts';

/**
 * One write set, inside a transaction that already holds the writers' lock: judged as a whole, then written as a whole.
 * Deletes come first, then puts, then touches; so a record that is deleted and put loses its children.
 */
export function* applyWriteSet(writeSet: SealedWriteSet, group: WriteGroup): Program<ApplyResult> {
  const moved = yield* judgeRevision(writeSet, group);
  if (moved !== null) return moved;
  const pending = yield* group.pendingRevision();
  const unsettled = yield* judgeSettlement(writeSet, pending);
  if (unsettled !== null) return unsettled;
  const judged = yield* judgeWriteSet(writeSet);
  if (!judged.ok) return explainedByPending(judged, pending);
  const held = yield* judgePending(writeSet, judged, pending);
  if (held !== null) return held;
  if (writeSet.isDryRun || !isWriting(writeSet))
    return { ok: true, revision: yield* group.revision(), changes: [], enqueued: 0, recorded: [], logins: [] };

  const before = writeSet.note === null ? null : yield* readBefore(judged);
  const isWaiting = writeSet.confirmWithinMs !== null && changesDocuments(judged);
  const needs = isWaiting && before !== null ? yield* readNeeds(before) : null;
  const isMovingLanes = movesLanes(judged);
  if (isMovingLanes) yield* group.flush();
  const revision = yield* group.takeRevision();
  if (pending !== null && writeSet.settles === null) yield* releaseRevoked(judged);
  yield* deleteRecords(judged);
  // Between the two: a deleted subscription still receives no event, and a new or changed one takes effect with the
  // next event.
  const ofEvents = yield* group.enqueue(writeSet.events, revision);
  yield* putRecords(judged, revision);
  const touched = yield* touchRecords(writeSet.touches, judged, revision);
  const waiting = needs === null ? [] : [yield* holdRecords({ writeSet, judged, needs, revision })];
  if (waiting.length > 0) yield* group.setPending(revision);
  if (writeSet.settles !== null) yield* group.setPending(null);
  const changes = changesOf(judged, [...touched, ...waiting]);
  group.addChanges(changes, revision);
  if (writeSet.note !== null && before !== null) {
    group.addHistory(historyRows(writeSet, judged, before, revision));
  }
  if (isMovingLanes) {
    yield* group.flush();
    yield* followEventRecords(judged, writeSet.nowMs);
  }
  if (writeSet.idempotency !== null) yield* writeIdempotency(writeSet.idempotency);
  const logins = yield* endPeople(writeSet.endsPeople, writeSet.nowMs);
  return { ok: true, revision, changes, logins, ...ofEvents };
}

export function* applyWriteSetAlone(writeSet: SealedWriteSet): Program<ApplyResult> {
  const group = new WriteGroup();
  const result = yield* applyWriteSet(writeSet, group);
  yield* group.flush();
  return result;
}

function* judgeRevision({ expectRevision }: SealedWriteSet, group: WriteGroup): Program<Refused | null> {
  if (expectRevision === null) return null;
  const revision = yield* group.revision();
  return revision === expectRevision ? null : { ok: false, reason: 'revision_moved', revision };
}

function isWriting({ puts, deletes, touches, events, endsPeople, idempotency }: SealedWriteSet): boolean {
  const writes = puts.length + deletes.length + touches.length + events.length + endsPeople.length;
  return writes > 0 || idempotency !== null;
}

function* deleteRecords({ gone, puts, found }: Judged): Program<void> {
  const goneKeys = [...gone.values()].map(({ kind, id }) => [kind, id]);
  yield* executeForTuples('DELETE FROM records WHERE (kind, id) IN (VALUES %s)', goneKeys);
  const replaced = [...puts.keys()].flatMap((key) => (gone.has(key) ? [] : (found.get(key) ?? [])));
  const released = (has: 'hasUniqueKeys' | 'hasReferences'): string[][] => [
    ...goneKeys,
    ...replaced.filter((record) => record[has]).map(({ kind, id }) => [kind, id]),
  ];
  yield* executeForTuples('DELETE FROM unique_keys WHERE (kind, id) IN (VALUES %s)', released('hasUniqueKeys'));
  yield* executeForTuples(
    'DELETE FROM record_references WHERE (from_kind, from_id) IN (VALUES %s)',
    released('hasReferences'),
  );
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

/** A record may list one key twice; the table has it once. */
function uniqueKeyRows({ kind, id, uniqueKeys }: SealedPut): string[][] {
  const distinct = new Map(uniqueKeys.map(({ scope, key }) => [`${scope}\0${key}`, [scope, key, kind, id]]));
  return [...distinct.values()];
}

/**
 * The columns of `VALUES` have the same names in both engines, and PostgreSQL treats parameters there as text unless
 * cast.
 */
const TOUCH = `UPDATE records SET revision = CAST(given.column3 AS bigint) FROM (VALUES %s) AS given
  WHERE records.kind = given.column1 AND records.id = given.column2 RETURNING ${RECORD_COLUMNS}`;

function* touchRecords(touches: readonly RecordKey[], { puts }: Judged, revision: number): Program<SealedRecord[]> {
  const distinct = new Map(touches.map((key) => [keyText(key), key]));
  const keys = [...distinct].filter(([key]) => !puts.has(key)).map(([, key]) => key);
  const rows = yield* queryForTuples(
    TOUCH,
    keys.map(({ kind, id }) => [kind, id, revision]),
  );
  return rows.map(recordOf);
}

function changesOf({ gone, puts }: Judged, touched: readonly SealedRecord[]): AppliedChange[] {
  const deleted = [...gone].filter(([key]) => !puts.has(key)).map(([, key]) => key);
  return [
    ...deleted.map((key): AppliedChange => ({ op: 'delete', key })),
    ...[...puts.values()].map(({ kind, id }): AppliedChange => ({ op: 'put', key: { kind, id } })),
    ...touched.map((record): AppliedChange => ({ op: 'touch', record })),
  ];
}
