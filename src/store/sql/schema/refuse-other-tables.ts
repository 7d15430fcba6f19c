import { storeErrors } from '../../errors.ts';
import { type Program, statement, text } from '../statements/statement.ts';
import { currentSchema } from './migrations.ts';
import type { Dialect } from './schema.ts';

const COLUMNS: Readonly<Record<Dialect, string>> = {
  sqlite: `SELECT m.name AS table_name, c.name AS column_name FROM sqlite_schema m
    JOIN pragma_table_info(m.name) c WHERE m.type = 'table'`,
  postgres: `SELECT CAST(table_name AS text) AS table_name, CAST(column_name AS text) AS column_name
    FROM information_schema.columns WHERE table_schema = current_schema()`,
};

/**
 * The version of a schema is final only once it is released: a store of another commit may have the same version and other
 * tables. Its statements would fail one by one, with errors that name no cause.
 */
export function* refuseOtherTables(dialect: Dialect): Program<void> {
  const found = new Set<string>();
  for (const row of yield statement(COLUMNS[dialect])) {
    found.add(text(row, 'table_name'));
    found.add(`${text(row, 'table_name')}.${text(row, 'column_name')}`);
  }
  for (const { name, columns } of currentSchema.tables) {
    const lacking = found.has(name) ? columns.find((column) => !found.has(`${name}.${column.name}`)) : undefined;
    if (!found.has(name)) throw otherBuild(`the table ${name}`);
    if (lacking !== undefined) throw otherBuild(`the column ${lacking.name} in the table ${name}`);
  }
}

function otherBuild(lacking: string) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_OTHER_BUILD',
    `the store lacks ${lacking}, although its schema version is one that this program knows: another commit of Postern wrote it, or somebody changed its tables. Nothing was changed. Start the program that wrote it. To move its configuration to a new store, run postern export there and postern apply here`,
  );
}
