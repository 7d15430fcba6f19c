import { PENDING_CHANGE } from '../../own-records.ts';
import type { Expectation, RecordKey, UniqueKey } from '../../store.ts';
import { keyText, type Refused, type SealedPut, type SealedWriteSet } from '../seal.ts';
import { integer, type Program, queryForTuples, queryOne, type Row, statement, text } from '../statement.ts';
import { judgeCycles, judgeReferences, judgeReferrers } from './judge-references.ts';
import {
  findRecords,
  IDEMPOTENCY_WINDOW_MS,
  type Judged,
  keyOf,
  readCascade,
  readIdempotency,
  readRevisions,
} from './record-rows.ts';

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

const NEWER_REFERRER = `SELECT records.kind AS kind, records.id AS id, records.revision AS revision
  FROM record_references JOIN records ON records.kind = from_kind AND records.id = from_id
  WHERE to_kind = ? AND to_id = ? AND from_kind <> '${PENDING_CHANGE.kind}' AND records.revision > ? LIMIT 1`;

/** Whether a record may lead elsewhere was decided by what refers to it: another node may have just changed that. */
function* judgeArming({ puts }: Judged): Program<Refused | null> {
  for (const { kind, id, armedAsOf } of puts.values()) {
    if (armedAsOf === null) continue;
    const newer = yield* queryOne(NEWER_REFERRER, [kind, id, armedAsOf]);
    if (newer !== null) return { ok: false, reason: 'conflict', key: keyOf(newer), actual: integer(newer, 'revision') };
  }
  return null;
}

const KEYS_PER_PAGE = 500;

function* judgeUniqueKeys(judged: Judged): Program<Refused | null> {
  const claims = new Map<string, RecordKey>();
  const wanted: UniqueKey[] = [];
  for (const { kind, id, uniqueKeys } of judged.puts.values()) {
    for (const uniqueKey of uniqueKeys) {
      const claim = claims.get(claimText(uniqueKey));
      if (claim !== undefined && (claim.kind !== kind || claim.id !== id)) return takenBy(uniqueKey, claim);
      claims.set(claimText(uniqueKey), { kind, id });
      wanted.push(uniqueKey);
    }
  }
  const rows = yield* queryForTuples(
    'SELECT scope, key, kind, id FROM unique_keys WHERE (scope, key) IN (VALUES %s)',
    wanted.map(({ scope, key }) => [scope, key]),
  );
  const held = new Map(
    rows
      .filter((row) => isKept(row, judged))
      .map((row) => [claimText({ scope: text(row, 'scope'), key: text(row, 'key') }), keyOf(row)]),
  );
  for (const uniqueKey of wanted) {
    const owner = held.get(claimText(uniqueKey));
    if (owner !== undefined) return takenBy(uniqueKey, owner);
  }
  return null;
}

function claimText({ scope, key }: UniqueKey): string {
  return `${scope}\0${key}`;
}

function takenBy({ scope, key }: UniqueKey, by: RecordKey): Refused {
  return { ok: false, reason: 'unique_key_taken', uniqueKey: { scope, key }, by: { kind: by.kind, id: by.id } };
}

/** Rejects removing the last key of a scope; a scope that was empty before may stay so. */
function* judgeLastOnes(scopes: readonly string[], judged: Judged): Program<Refused | null> {
  const claimed = new Set([...judged.puts.values()].flatMap(({ uniqueKeys }) => uniqueKeys.map(({ scope }) => scope)));
  for (const scope of scopes) {
    if (!claimed.has(scope) && (yield* isEmptied(scope, judged))) return { ok: false, reason: 'last_one', scope };
  }
  return null;
}

function* isEmptied(scope: string, judged: Judged): Program<boolean> {
  let rows = yield statement('SELECT key, kind, id FROM unique_keys WHERE scope = ? ORDER BY key LIMIT ?', [
    scope,
    KEYS_PER_PAGE,
  ]);
  let last = rows.at(-1);
  if (last === undefined) return false;
  while (last !== undefined) {
    // A pending change only holds the keys that it may need again.
    if (rows.some((row) => isKept(row, judged) && row['kind'] !== PENDING_CHANGE.kind)) return false;
    rows = yield statement('SELECT key, kind, id FROM unique_keys WHERE scope = ? AND key > ? ORDER BY key LIMIT ?', [
      scope,
      text(last, 'key'),
      KEYS_PER_PAGE,
    ]);
    last = rows.at(-1);
  }
  return true;
}

/** An owner loses its keys when it is deleted, and when it is put: the put lists those it still claims. */
function isKept(row: Row, { gone, puts }: Judged): boolean {
  const owner = keyText(keyOf(row));
  return !gone.has(owner) && !puts.has(owner);
}
