import type { JsonObject } from '../../../kit/json.ts';
import { type LostOwner, OWNERSHIP_KIND, PENDING_CHANGE, type PendingChange } from '../../own-records.ts';
import type { RecordKey, UniqueKey } from '../../store.ts';
import { keyText, type Refused, type SealedPut, type SealedRecord, type SealedWriteSet } from '../seal.ts';
import {
  insertRows,
  type Program,
  queryForTuples,
  queryOne,
  type Row,
  type SqlValue,
  storeNowMs,
  text,
} from '../statement.ts';
import { reachable } from './judge-references.ts';
import { type Judged, keyOf } from './record-rows.ts';

/**
 * A change that waits for its confirmation holds what its revert needs, as references and unique keys of the record
 * `PENDING_CHANGE`: so the rules that protect every other record protect them too, and deleting the record releases
 * all.
 */
type Hold = 'changed' | 'created' | 'needed' | 'parent';

/** What the earlier documents referred to and claimed, and their parents. */
export interface Needs {
  readonly before: ReadonlyMap<string, SealedRecord>;
  readonly uniqueKeys: readonly UniqueKey[];
  readonly records: readonly RecordKey[];
  readonly parents: readonly RecordKey[];
}

/** Read before anything is written. */
export function* readNeeds(before: ReadonlyMap<string, SealedRecord>): Program<Needs> {
  const records = [...before.values()];
  const keys = records.map(({ kind, id }) => [kind, id]);
  const claimed = yield* queryForTuples('SELECT scope, key FROM unique_keys WHERE (kind, id) IN (VALUES %s)', keys);
  const referred = yield* queryForTuples(
    `SELECT from_kind, from_id, to_kind AS kind, to_id AS id FROM record_references
      WHERE (from_kind, from_id) IN (VALUES %s)`,
    keys,
  );
  const parentOf = (row: Row): unknown =>
    before.get(keyText({ kind: text(row, 'from_kind'), id: text(row, 'from_id') }))?.parent;
  const parents = new Set(records.flatMap(({ parent }) => parent ?? []));
  const found = yield* queryForTuples(
    'SELECT kind, id FROM records WHERE id IN (VALUES %s)',
    [...parents].map((id) => [id]),
  );
  return {
    before,
    uniqueKeys: claimed.map((row) => ({ scope: text(row, 'scope'), key: text(row, 'key') })),
    // One that names its parent is deleted with it.
    records: referred.filter((row) => row['id'] !== parentOf(row)).map(keyOf),
    parents: found.map(keyOf),
  };
}

export interface HeldChange {
  readonly writeSet: SealedWriteSet;
  readonly judged: Judged;
  readonly needs: Needs;
  readonly revision: number;
}

/** Adds the record of the wait. The database's clock decides when it ends. */
export function* holdRecords({ writeSet, judged, needs, revision }: HeldChange): Program<SealedRecord> {
  const { confirmWithinMs, note, remembers } = writeSet;
  const confirmByMs = (yield* storeNowMs(writeSet)) + (confirmWithinMs ?? 0);
  const owners = lostOwners(judged, needs);
  const author = note === null ? null : (JSON.parse(note.author) as JsonObject);
  const narrowing = [...judged.puts.values()].filter(({ isRevocation }) => isRevocation);
  const narrowed = narrowing.map((put): PendingChange['narrowed'][number] => {
    const { kind, id } = put;
    return { kind, id, fields: changedFields(needs.before.get(keyText(put)), put) };
  });
  const times = { confirm_by_ms: confirmByMs, confirm_within_ms: confirmWithinMs };
  const earlier = [...needs.before.values()]
    .filter((record) => remembers.includes(record.kind))
    .map(({ kind, id, doc, secrets }) => ({
      kind,
      id,
      doc: JSON.parse(doc) as JsonObject,
      has_secrets: secrets !== null,
    }));
  const doc = JSON.stringify({ ...times, author, owners, narrowed, earlier });
  const record: SealedRecord = { ...PENDING_CHANGE, parent: null, revision, doc, secrets: null };
  const { kind, id } = PENDING_CHANGE;
  yield* insertRows(
    'records',
    ['kind', 'id', 'parent', 'revision', 'doc', 'secrets'],
    [[kind, id, null, revision, doc, null]],
  );
  const claims = new Set([...judged.puts.values()].flatMap(({ uniqueKeys }) => uniqueKeys.map(claimText)));
  const released = new Map(needs.uniqueKeys.map((each) => [claimText(each), each]));
  yield* insertRows(
    'unique_keys',
    ['scope', 'key', 'kind', 'id'],
    [...released].filter(([claim]) => !claims.has(claim)).map(([, { scope, key }]) => [scope, key, kind, id]),
  );
  const holds = new Map<string, readonly [Hold, RecordKey]>();
  for (const key of needs.parents) holds.set(keyText(key), ['parent', key]);
  for (const key of [...judged.gone.values(), ...judged.puts.values()]) {
    holds.set(keyText(key), [needs.before.has(keyText(key)) ? 'changed' : 'created', key]);
  }
  // Beside the other hold on it: a revocation ends that one only.
  for (const key of needs.records) holds.set(`needed ${keyText(key)}`, ['needed', key]);
  yield* insertRows(
    'record_references',
    ['from_kind', 'from_id', 'position', 'field', 'to_kind', 'to_id'],
    [...holds.values()].map(([hold, to], position): SqlValue[] => [kind, id, position, hold, to.kind, to.id]),
  );
  return record;
}

function changedFields(before: SealedRecord | undefined, { doc }: SealedPut): readonly string[] {
  const [was, is] = [before?.doc ?? '{}', doc].map((text) => JSON.parse(text) as JsonObject) as [
    JsonObject,
    JsonObject,
  ];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(
    (name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  );
}

/** Owned records are deleted with their objects, and the history does not have them. */
function lostOwners({ gone, puts }: Judged, { before }: Needs): readonly LostOwner[] {
  return [...gone].flatMap(([key, { kind }]) => {
    const record = kind === OWNERSHIP_KIND && !puts.has(key) ? before.get(key) : undefined;
    if (record === undefined) return [];
    const { owner, name } = JSON.parse(record.doc) as Pick<LostOwner, 'owner' | 'name'>;
    return [{ id: record.parent ?? '', owner, name }];
  });
}

/** Whether the write set may end the wait: decided here, so that of several processes exactly one does it. */
export function* judgeSettlement(writeSet: SealedWriteSet, pending: number | null): Program<Refused | null> {
  const { settles } = writeSet;
  if (settles === null) return null;
  if (pending !== settles.revision) return notSettled('gone', 0);
  // At any time: if its time is over, the server would do the same.
  if (settles.as === 'withdrawn') return null;
  const row = yield* queryOne('SELECT doc FROM records WHERE kind = ? AND id = ?', [
    PENDING_CHANGE.kind,
    PENDING_CHANGE.id,
  ]);
  const { confirm_by_ms: confirmByMs } = JSON.parse(text(row as Row, 'doc')) as { confirm_by_ms: number };
  const remainingMs = confirmByMs - (yield* storeNowMs(writeSet));
  if (settles.as === 'reverted') return remainingMs > 0 ? notSettled('early', remainingMs) : null;
  return remainingMs > 0 ? null : notSettled('late', 0);
}

/**
 * Refuses writes that the revert would lose, that would make it impossible, or that it would arm: what decides who
 * receives what must not change between the change and its revert. What only takes rights away is never refused.
 */
export function* judgePending(
  { settles, confirmWithinMs, note, concerns }: SealedWriteSet,
  { puts, gone, revoked }: Judged,
  pending: number | null,
): Program<Refused | null> {
  if (pending === null || settles !== null) return null;
  if (confirmWithinMs !== null) return changePending(pending, null);
  const given = [...puts].filter(([key]) => !revoked.has(key)).map(([, put]) => put);
  const lost = [...gone].filter(([key]) => !revoked.has(key)).map(([, key]) => key);
  const written = [...given, ...lost, ...concerns].map(({ kind, id }) => ({ kind, id }));
  const targets = note === null ? [] : given.flatMap(targetsOf);
  const holds = yield* readHolds([...written, ...targets]);
  const isOneOf = (key: RecordKey, ...which: Hold[]): boolean => which.some((hold) => isHeld(holds, key, hold));
  const arming = given.filter(({ armedAsOf }) => armedAsOf !== null);
  const key =
    written.find((each) => isOneOf(each, 'changed', 'created')) ??
    targets.find((each) => isOneOf(each, 'created')) ??
    arming.find((each) => isOneOf(each, 'needed')) ??
    arming.flatMap(targetsOf).find((each) => isOneOf(each, 'changed'));
  if (key !== undefined) return changePending(pending, key);
  if (note === null) return null;
  const parents = given.flatMap(({ parent }) => parent ?? []);
  const parent = yield* readCreated(parents);
  const reached = parent ?? (yield* readReachedChange(puts));
  return reached === null ? null : changePending(pending, reached);
}

/**
 * The earlier version of a record may refer to one that now would refer to it: a cycle, which the revert cannot make.
 */
function* readReachedChange(puts: Judged['puts']): Program<RecordKey | null> {
  for (const { kind, id, isAcyclic } of puts.values()) {
    if (!isAcyclic) continue;
    const targets = [...(yield* reachable({ kind, id }, puts)).values()];
    const holds = yield* readHolds(targets);
    const changed = targets.find((key) => key.kind !== PENDING_CHANGE.kind && isHeld(holds, key, 'changed'));
    if (changed !== undefined) return changed;
  }
  return null;
}

/** A refusal because of what the pending change holds is one of the pending change. */
export function explainedByPending(refused: Refused, pending: number | null): Refused {
  if (pending === null) return refused;
  if (refused.reason === 'unique_key_taken' && refused.by.kind === PENDING_CHANGE.kind) {
    return changePending(pending, refused.by);
  }
  if (refused.reason === 'still_referenced' && refused.by.every(({ kind }) => kind === PENDING_CHANGE.kind)) {
    return changePending(pending, refused.key);
  }
  return refused;
}

/** Something that refers to a record that the change created would make its revert impossible. */
function targetsOf({ references }: SealedPut): readonly RecordKey[] {
  return references.map(({ to }) => to);
}

type Holds = ReadonlyMap<string, ReadonlySet<Hold>>;

function isHeld(holds: Holds, key: RecordKey, hold: Hold): boolean {
  return holds.get(keyText(key))?.has(hold) === true;
}

function* readHolds(keys: readonly RecordKey[]): Program<Holds> {
  const distinct = new Map(keys.map((key) => [keyText(key), key]));
  const rows = yield* queryForTuples(
    `SELECT to_kind AS kind, to_id AS id, field FROM record_references
      WHERE (to_kind, to_id) IN (VALUES %s) AND from_kind = '${PENDING_CHANGE.kind}'`,
    [...distinct.values()].map(({ kind, id }) => [kind, id]),
  );
  const holds = new Map<string, Set<Hold>>();
  for (const row of rows) {
    const key = keyText(keyOf(row));
    holds.set(key, (holds.get(key) ?? new Set()).add(text(row, 'field') as Hold));
  }
  return holds;
}

/** The first of these ids whose record the pending change created. */
function* readCreated(ids: readonly string[]): Program<RecordKey | null> {
  const rows = yield* queryForTuples(
    'SELECT kind, id FROM records WHERE id IN (VALUES %s)',
    [...new Set(ids)].map((id) => [id]),
  );
  const keys = rows.map(keyOf);
  const holds = yield* readHolds(keys);
  return keys.find((key) => isHeld(holds, key, 'created')) ?? null;
}

function changePending(revision: number, key: RecordKey | null): Refused {
  return { ok: false, reason: 'change_pending', revision, key: key && { kind: key.kind, id: key.id } };
}

function notSettled(why: 'gone' | 'early' | 'late', remainingMs: number): Refused {
  return { ok: false, reason: 'not_settled', why, remainingMs };
}

function claimText({ scope, key }: UniqueKey): string {
  return `${scope}\0${key}`;
}
