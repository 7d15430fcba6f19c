import type { Expectation, RecordKey } from '../../store.ts';
import { keyText, type Refused, type SealedPut, type SealedWriteSet } from '../sealing/sealed-write-set.ts';
import { type Program, queryForTuples, text } from '../statements/statement.ts';
import { IDEMPOTENCY_WINDOW_MS, readIdempotency } from './idempotency-rows.ts';
import { judgeArming } from './judge-arming.ts';
import { judgeCycles, judgeReferences, judgeReferrers } from './judge-references.ts';
import { judgeLastOnes, judgeUniqueKeys } from './judge-unique-keys.ts';
import type { Judged } from './judged.ts';
import { findRecords, keyOf, readCascade, readRevisions } from './record-rows.ts';

/** In one statement. The documents of many others would take memory for nothing. */
const MAX_FOUND_TOGETHER = 100;

/**
 * Judges a whole write set before anything is written. Safe because every writer holds the counter's lock from the
 * start of its transaction: nobody can write in between. So a rejected write set leaves no trace, and the others of its
 * group commit need no savepoint against it.
 *
 * The idempotency key comes first: a repeated request must be recognized as such, not be rejected because its first
 * execution moved the revision.
 */
export function* judgeWriteSet(writeSet: SealedWriteSet): Program<Judged | Refused> {
  const puts = new Map(writeSet.puts.map((put) => [keyText(put), put]));
  const used = yield* judgeIdempotency(writeSet);
  if (used !== null) return used;
  const others = [...writeSet.expect, ...writeSet.deletes, ...writeSet.touches];
  const isSmall = writeSet.puts.length + others.length <= MAX_FOUND_TOGETHER;
  const found = yield* findRecords(isSmall ? [...writeSet.puts, ...others] : writeSet.puts);
  const revisions = new Map([...found].map(([key, { revision }]) => [key, revision]));
  if (!isSmall) for (const [key, revision] of yield* readRevisions(others)) revisions.set(key, revision);
  const conflict = findConflict(writeSet, puts, revisions);
  if (conflict !== null) return conflict;
  const gone = yield* readCascade(writeSet.deletes);
  const revoked = yield* readRevoked(writeSet, gone);
  const judged: Judged = { ok: true, puts, gone, revoked, found };
  return (
    findDeletedTouch(writeSet, judged) ??
    (yield* judgeArming(judged)) ??
    (yield* judgeParents(judged)) ??
    (yield* judgeUniqueKeys(judged)) ??
    (yield* judgeReferences(judged)) ??
    (yield* judgeReferrers(judged)) ??
    (yield* judgeCycles(judged)) ??
    (yield* judgeLastOnes(writeSet.keepAtLeastOne, judged)) ??
    judged
  );
}

function* readRevoked(
  { puts, deletes }: SealedWriteSet,
  gone: ReadonlyMap<string, RecordKey>,
): Program<ReadonlySet<string>> {
  const revoking = deletes.filter(({ isRevocation }) => isRevocation === true);
  const ofDeletes = revoking.length === deletes.length ? gone : yield* readCascade(revoking);
  return new Set([...ofDeletes.keys(), ...puts.filter(({ isRevocation }) => isRevocation).map(keyText)]);
}

function* judgeIdempotency({ idempotency }: SealedWriteSet): Program<Refused | null> {
  if (idempotency === null) return null;
  const existing = yield* readIdempotency(idempotency.scope);
  if (existing === null || existing.createdAtMs <= idempotency.createdAtMs - IDEMPOTENCY_WINDOW_MS) return null;
  return { ok: false, reason: 'idempotency_used', existing };
}

function findConflict(
  { expect, deletes, touches }: SealedWriteSet,
  puts: ReadonlyMap<string, SealedPut>,
  revisions: ReadonlyMap<string, number>,
): Refused | null {
  for (const expectation of expect) {
    const actual = revisions.get(keyText(expectation)) ?? null;
    if (!isMet(expectation, actual)) return conflictOn(expectation, actual);
  }
  const missing =
    deletes.find((key) => !revisions.has(keyText(key))) ??
    touches.find((key) => !revisions.has(keyText(key)) && !puts.has(keyText(key)));
  return missing === undefined ? null : conflictOn(missing, null);
}

function isMet({ revision }: Expectation, actual: number | null): boolean {
  return revision === 'absent' ? actual === null : actual === revision;
}

function conflictOn({ kind, id }: RecordKey, actual: number | null): Refused {
  return { ok: false, reason: 'conflict', key: { kind, id }, actual };
}

function findDeletedTouch({ touches }: SealedWriteSet, { gone, puts }: Judged): Refused | null {
  const deleted = touches.find((key) => gone.has(keyText(key)) && !puts.has(keyText(key)));
  return deleted === undefined ? null : conflictOn(deleted, null);
}

function* judgeParents({ puts, gone, found }: Judged): Program<Refused | null> {
  const present = new Set([...puts.values()].map(({ id }) => id));
  // A record that stays below its parent proves that the parent exists: it would have been deleted with it.
  for (const [key, { parent }] of puts) {
    if (parent !== null && !gone.has(key) && found.get(key)?.parent === parent) present.add(parent);
  }
  const asked = new Set<string>();
  for (const { parent } of puts.values()) if (parent !== null && !present.has(parent)) asked.add(parent);
  const rows = yield* queryForTuples(
    'SELECT kind, id FROM records WHERE id IN (VALUES %s)',
    [...asked].map((id) => [id]),
  );
  for (const row of rows) if (!gone.has(keyText(keyOf(row)))) present.add(text(row, 'id'));
  for (const { parent } of puts.values()) {
    if (parent !== null && !present.has(parent)) return { ok: false, reason: 'parent_missing', parent };
  }
  return null;
}
