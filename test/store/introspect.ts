import type { StoreLocation } from '../../src/store/offline-database.ts';
import type { Column, Index, Schema, Table } from '../../src/store/sql/schema/schema.ts';
import { querySql } from './engines.ts';

/** The database's own schema in the form of our description, ordered by name. */
export async function introspect(location: StoreLocation): Promise<Omit<Schema, 'version'>> {
  const tables = await tableNames(location);
  return {
    tables: await Promise.all(tables.map((name) => introspectTable(location, name))),
    indexes: (await Promise.all(tables.map((name) => introspectIndexes(location, name)))).flat(),
  };
}

export function ordered({ tables, indexes }: Schema): Omit<Schema, 'version'> {
  const byName = (one: { name: string }, other: { name: string }) => (one.name < other.name ? -1 : 1);
  const byTable = (one: Index, other: Index) =>
    one.table === other.table ? byName(one, other) : one.table < other.table ? -1 : 1;
  return { tables: tables.toSorted(byName), indexes: indexes.toSorted(byTable) };
}

async function tableNames(location: StoreLocation): Promise<string[]> {
  const rows = await querySql(
    location,
    location.engine === 'sqlite'
      ? "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
      : 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename COLLATE "C"',
  );
  return rows.map(({ name }) => String(name));
}

async function introspectTable(location: StoreLocation, name: string): Promise<Table> {
  const rows = await querySql(
    location,
    location.engine === 'sqlite'
      ? `SELECT name, lower(type) AS type, "notnull" AS required, pk AS key_position FROM pragma_table_info('${name}') ORDER BY cid`
      : `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
          coalesce(array_position(i.indkey::int[], a.attnum::int) + 1, 0)::int AS key_position, c.collname AS collation
        FROM pg_attribute a
        LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
        LEFT JOIN pg_collation c ON c.oid = a.attcollation
        WHERE a.attrelid = '${name}'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
  );
  const key = rows.filter((row) => Number(row['key_position']) > 0);
  const primaryKey = key.toSorted((one, other) => Number(one['key_position']) - Number(other['key_position']));
  return { name, columns: rows.map(columnOf), primaryKey: primaryKey.map((row) => String(row['name'])) };
}

function columnOf(row: Readonly<Record<string, unknown>>): Column {
  const { name, type, required, collation } = row;
  const known = new Map([
    ['text', 'text'],
    ['integer', 'bigint'],
    ['bigint', 'bigint'],
  ] as const).get(type as 'text');
  if (known === undefined) throw new Error(`column ${String(name)} has the type ${String(type)}`);
  if (known === 'text' && collation !== undefined && collation !== 'C')
    throw new Error(`column ${String(name)} sorts by ${JSON.stringify(collation)}`);
  return { name: String(name), type: known, isNullable: !required };
}

async function introspectIndexes(location: StoreLocation, table: string): Promise<Index[]> {
  const rows = await querySql(
    location,
    location.engine === 'sqlite'
      ? `SELECT l.name, l."unique" AS is_unique, group_concat(i.name ORDER BY i.seqno) AS columns
        FROM pragma_index_list('${table}') l, pragma_index_info(l.name) i WHERE l.origin = 'c' GROUP BY l.name ORDER BY l.name`
      : `SELECT c.relname AS name, i.indisunique AS is_unique, string_agg(a.attname, ',' ORDER BY k.position) AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS k (attnum, position)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
        WHERE i.indrelid = '${table}'::regclass AND NOT i.indisprimary
        GROUP BY c.relname, i.indisunique ORDER BY c.relname COLLATE "C"`,
  );
  return rows.map((row) => ({
    name: String(row['name']),
    table,
    columns: String(row['columns']).split(','),
    isUnique: Boolean(row['is_unique']),
  }));
}
