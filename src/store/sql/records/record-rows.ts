import type { RecordKey } from '../../store.ts';
import { keyText, type SealedRecord } from '../sealing/sealed-write-set.ts';
import {
  chunks,
  integer,
  type Program,
  queryForTuples,
  type Row,
  statement,
  text,
  textOrNull,
  tupleList,
} from '../statements/statement.ts';

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
export interface FoundRecord extends SealedRecord {
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
