import { insertRows, type Program, queryOne, type Row, type SqlValue, statement } from '../statements/statement.ts';
import type { Schema, Table } from './schema.ts';

/** Live state of processes that will not exist when a backup is restored, and the proof of an unchanged history. */
const NOT_BACKED_UP: ReadonlySet<string> = new Set([
  'leases',
  'commits',
  'nodes',
  'node_agreements',
  'node_claims',
  'node_sessions',
  // After a restore, people log in again: a code that was used since the backup must not be usable again.
  'identity_artifacts',
  'identity_logouts',
]);

export function backedUpTables({ tables }: Schema): readonly Table[] {
  return tables.filter(({ name }) => !NOT_BACKED_UP.has(name));
}

/** A page of a table in the order of its primary key, as lists of values in the order of its columns. */
export function* readTablePage(table: Table, after: readonly SqlValue[] | null, limit: number): Program<SqlValue[][]> {
  const columns = table.columns.map(({ name }) => name);
  const key = table.primaryKey.join(', ');
  const where = after === null ? '' : `WHERE (${key}) > (${table.primaryKey.map(() => '?').join(', ')})`;
  const rows = yield statement(`SELECT ${columns.join(', ')} FROM ${table.name} ${where} ORDER BY ${key} LIMIT ?`, [
    ...(after ?? []),
    limit,
  ]);
  return rows.map((row) => valuesOf(row, columns));
}

export function primaryKeyOf(table: Table, values: readonly SqlValue[]): SqlValue[] {
  return table.primaryKey.map((name) => values[table.columns.findIndex((column) => column.name === name)] ?? null);
}

export function* insertTableRows(table: Table, rows: readonly (readonly SqlValue[])[]): Program<void> {
  yield* insertRows(
    table.name,
    table.columns.map(({ name }) => name),
    rows,
  );
}

/** Whether the store contains data. A store that was only opened has just its counters and its key check. */
export function* holdsRecords({ tables }: Schema): Program<boolean> {
  for (const { name } of tables) {
    if (name === 'meta' || name === 'counter' || NOT_BACKED_UP.has(name)) continue;
    if ((yield* queryOne(`SELECT 1 AS one FROM ${name} LIMIT 1`)) !== null) return true;
  }
  return false;
}

function valuesOf(row: Row, columns: readonly string[]): SqlValue[] {
  return columns.map((column) => row[column] ?? null);
}
