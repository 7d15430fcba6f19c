import type { IdempotencyRecord, RecordKey } from '../../store.ts';
import { keyText, type SealedPut, type SealedRecord } from '../seal.ts';
import {
  chunks,
  execute,
  integer,
  type Program,
  queryForTuples,
  queryOne,
  type Row,
  type Statement,
  statement,
  text,
  textOrNull,
  tupleList,
} from '../statement.ts';

export const RECORD_COLUMNS = 'kind, id, parent, revision, doc, secrets';

export function recordOf(row: Row): SealedRecord {
  return {
    ...keyOf(row),
    parent: textOrNull(row, 'parent'),
    revision: integer(row, 'revision'),
    doc: text(row, 'doc'),
    secrets: textOrNull(row, 'secrets'),
  };
}

export function keyOf(row: Row): RecordKey {
  return { kind: text(row, 'kind'), id: text(row, 'id') };
}

/** For the records that exist. */
export function* readRevisions(keys: readonly RecordKey[]): Program<Map<string, number>> {
  const rows = yield* queryForTuples(
    'SELECT kind, id, revision FROM records WHERE (kind, id) IN (VALUES %s)',
    keys.map(({ kind, id }) => [kind, id]),
  );
  return new Map(rows.map((row) => [keyText(keyOf(row)), integer(row, 'revision')]));
}

/** A record as a write set finds it. */
interface FoundRecord extends SealedRecord {
  readonly hasUniqueKeys: boolean;
  readonly hasReferences: boolean;
}

const FOUND = `SELECT ${RECORD_COLUMNS},
  CASE WHEN EXISTS (SELECT 1 FROM unique_keys WHERE unique_keys.kind = records.kind AND unique_keys.id = records.id)
    THEN 1 ELSE 0 END AS has_unique_keys,
  CASE WHEN EXISTS (SELECT 1 FROM record_references
    WHERE record_references.from_kind = records.kind AND record_references.from_id = records.id)
    THEN 1 ELSE 0 END AS has_references
  FROM records WHERE (kind, id) IN (VALUES %s)`;

/** The records that exist, with all that replacing them needs to know: each statement less counts for a small write. */
export function* findRecords(keys: readonly RecordKey[]): Program<Map<string, FoundRecord>> {
  const rows = yield* queryForTuples(
    FOUND,
    keys.map(({ kind, id }) => [kind, id]),
  );
  return new Map(
    rows.map((row): [string, FoundRecord] => {
      const record = recordOf(row);
      const hasUniqueKeys = integer(row, 'has_unique_keys') === 1;
      return [keyText(record), { ...record, hasUniqueKeys, hasReferences: integer(row, 'has_references') === 1 }];
    }),
  );
}

/** The records with all descendants, by `parent`. */
export function* readCascade(deletes: readonly RecordKey[]): Program<Map<string, RecordKey>> {
  const gone = new Map<string, RecordKey>();
  for (const chunk of chunks(deletes)) {
    const rows = yield statement(`${cascadeSql(chunk)} SELECT kind, id FROM gone`, keyParams(chunk));
    for (const row of rows) gone.set(keyText(keyOf(row)), keyOf(row));
  }
  return gone;
}

/** Starts at the table, not at the values: PostgreSQL requires one collation throughout a recursive query. */
function cascadeSql(deletes: readonly RecordKey[]): string {
  return `WITH RECURSIVE gone (kind, id) AS (
    SELECT kind, id FROM records WHERE (kind, id) IN (VALUES ${tupleList(deletes.map(() => ['', '']))})
    UNION SELECT child.kind, child.id FROM records child JOIN gone ON child.parent = gone.id
  )`;
}

export function keyParams(keys: readonly RecordKey[]): string[] {
  return keys.flatMap(({ kind, id }) => [kind, id]);
}

export function* readRecords(keys: readonly RecordKey[]): Program<SealedRecord[]> {
  const rows = yield* queryForTuples(
    `SELECT ${RECORD_COLUMNS} FROM records WHERE (kind, id) IN (VALUES %s)`,
    keys.map(({ kind, id }) => [kind, id]),
  );
  return rows.map(recordOf);
}

/** The page after `after` in (kind, id) order, for reading everything in one view. */
export function* readRecordPage(after: RecordKey | null, limit: number): Program<SealedRecord[]> {
  const rows =
    after === null
      ? yield statement(`SELECT ${RECORD_COLUMNS} FROM records ORDER BY kind, id LIMIT ?`, [limit])
      : yield statement(`SELECT ${RECORD_COLUMNS} FROM records WHERE (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?`, [
          after.kind,
          after.id,
          limit,
        ]);
  return rows.map(recordOf);
}

/** Results of the judgment that the writing needs. */
export interface Judged {
  readonly ok: true;
  /** By key; of two puts of one record the later one counts. */
  readonly puts: ReadonlyMap<string, SealedPut>;
  /** The records to delete, with all their descendants. */
  readonly gone: ReadonlyMap<string, RecordKey>;
  /** Keys of puts and of `gone` that only take rights away: a pending change lets go of them. */
  readonly revoked: ReadonlySet<string>;
  /** The existing records that it puts, as they are before. It may contain others. */
  readonly found: ReadonlyMap<string, FoundRecord>;
}

export function* readRevision(): Program<number> {
  return yield* readCounter('revision');
}

export function* readCounter(name: string): Program<number> {
  const row = yield* queryOne('SELECT value FROM counter WHERE name = ?', [name]);
  if (row === null) throw new Error(`the store has no counter ${name}`);
  return integer(row, 'value');
}

/** Two counters and the rows of a statement, in one round trip. */
export function* withCounters(one: string, other: string, rest: Statement): Program<[number, number, ...Row[]]> {
  const counters = statement('SELECT name, value FROM counter WHERE name IN (?, ?)', [one, other]);
  const [first, second, ...rows] = yield { ...counters, also: [rest] };
  if (first === undefined || second === undefined) throw new Error(`the store has lost the counter ${one} or ${other}`);
  const [a, b] = text(first, 'name') === one ? [first, second] : [second, first];
  return [integer(a, 'value'), integer(b, 'value'), ...rows];
}

type ChangeRow =
  | { readonly op: 'put'; readonly record: SealedRecord }
  | { readonly op: 'delete'; readonly key: RecordKey; readonly revision: number };

type ChangeRows =
  | { readonly isComplete: true; readonly revision: number; readonly changes: readonly ChangeRow[] }
  | { readonly isComplete: false };

/**
 * Each record that changed after `revision`, once, in its current state, in the order of its last change. A follower
 * ahead of the store (a backup was restored) must read everything again, like one that is behind the feed.
 */
export function* readChangesSince(revision: number): Program<ChangeRows> {
  // Together: a database may be far away.
  const [current, floor, ...rows] = yield* withCounters(
    'revision',
    'changes_floor',
    statement('SELECT kind, id, op, revision FROM changes WHERE revision > ? ORDER BY revision, position', [revision]),
  );
  if (revision < floor || revision > current) return { isComplete: false };
  if (revision === current) return { isComplete: true, revision, changes: [] };
  const last = new Map<string, ChangeRow | 'put'>();
  for (const row of rows) {
    const key = keyOf(row);
    // A Map keeps the position of the first insertion; the last one is needed.
    last.delete(keyText(key));
    last.set(keyText(key), row['op'] === 'put' ? 'put' : { op: 'delete', key, revision: integer(row, 'revision') });
  }
  const put = rows.map(keyOf).filter((key) => last.get(keyText(key)) === 'put');
  for (const record of yield* readRecords([...new Map(put.map((key) => [keyText(key), key])).values()])) {
    last.set(keyText(record), { op: 'put', record });
  }
  return { isComplete: true, revision: current, changes: [...last.values()].filter((change) => change !== 'put') };
}

/** Deletes changes that are more than `keepRevisions` old. */
export function* pruneChanges(keepRevisions: number): Program<void> {
  const floor = (yield* readRevision()) - keepRevisions;
  if (floor <= (yield* readCounter('changes_floor'))) return;
  yield statement('DELETE FROM changes WHERE revision <= ?', [floor]);
  yield statement("UPDATE counter SET value = ? WHERE name = 'changes_floor'", [floor]);
}

export const IDEMPOTENCY_WINDOW_MS = 24 * 60 * 60 * 1000;

/** Returns a record of any age: the caller knows the time. */
export function* readIdempotency(scope: string): Program<IdempotencyRecord | null> {
  const row = yield* queryOne('SELECT scope, body_hash, kind, id, created_at_ms FROM idempotency WHERE scope = ?', [
    scope,
  ]);
  if (row === null) return null;
  return {
    scope: text(row, 'scope'),
    bodyHash: text(row, 'body_hash'),
    kind: text(row, 'kind'),
    id: text(row, 'id'),
    createdAtMs: integer(row, 'created_at_ms'),
  };
}

export function* writeIdempotency({ scope, bodyHash, kind, id, createdAtMs }: IdempotencyRecord): Program<void> {
  yield* execute(
    `INSERT INTO idempotency (scope, body_hash, kind, id, created_at_ms) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (scope) DO UPDATE SET body_hash = excluded.body_hash, kind = excluded.kind, id = excluded.id,
      created_at_ms = excluded.created_at_ms`,
    [scope, bodyHash, kind, id, createdAtMs],
  );
}
