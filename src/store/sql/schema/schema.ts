/**
 * A schema description independent of the engine, and its DDL. `migrations.ts` is the only source: the description of
 * the newest schema is folded from the migrations, so the two cannot drift apart.
 */
export type Dialect = 'sqlite' | 'postgres';

export interface Column {
  readonly name: string;
  readonly type: 'text' | 'bigint';
  readonly isNullable: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly primaryKey: readonly string[];
}

export interface Index {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  readonly isUnique: boolean;
}

export type MigrationStep =
  | { readonly do: 'create_table'; readonly table: Table }
  | { readonly do: 'create_index'; readonly index: Index }
  | { readonly do: 'drop_index'; readonly index: string }
  /** With its indexes and rows. */
  | { readonly do: 'drop_table'; readonly table: string }
  /** A row of `counter` that starts at 0. */
  | { readonly do: 'add_counter'; readonly counter: string };

export interface Migration {
  readonly version: number;
  /**
   * The oldest schema whose programs can go on with the changed tables, because the migration only adds what they
   * ignore: they drain while their successor migrates. Absent: no older program.
   */
  readonly compatibleFrom?: number;
  readonly steps: readonly MigrationStep[];
}

export interface Schema {
  readonly version: number;
  readonly tables: readonly Table[];
  readonly indexes: readonly Index[];
}

const DOCUMENT_COLUMNS: ReadonlySet<string> = new Set(['doc', 'payload', 'attempts']);

export function schemaAfter(migrations: readonly Migration[]): Schema {
  let tables: readonly Table[] = [];
  let indexes: readonly Index[] = [];
  for (const step of migrations.flatMap(({ steps }) => steps)) {
    if (step.do === 'create_table') tables = [...tables, step.table];
    if (step.do === 'create_index') indexes = [...indexes, step.index];
    if (step.do === 'drop_index') indexes = indexes.filter(({ name }) => name !== step.index);
    if (step.do !== 'drop_table') continue;
    tables = tables.filter(({ name }) => name !== step.table);
    indexes = indexes.filter((each) => each.table !== step.table);
  }
  return { version: migrations.at(-1)?.version ?? 0, tables, indexes };
}

export function stepSql(dialect: Dialect, step: MigrationStep): string {
  switch (step.do) {
    case 'create_table':
      return createTableSql(dialect, step.table);
    case 'create_index':
      return createIndexSql(step.index);
    case 'drop_index':
      return `DROP INDEX ${step.index}`;
    case 'drop_table':
      return `DROP TABLE ${step.table}`;
    case 'add_counter':
      return `INSERT INTO counter (name, value) VALUES ('${step.counter}', 0)`;
  }
}

function createTableSql(dialect: Dialect, table: Table): string {
  const lines = table.columns.map((column) => `  ${columnSql(dialect, column)}`);
  lines.push(`  PRIMARY KEY (${table.primaryKey.join(', ')})`);
  return `CREATE TABLE ${table.name} (\n${lines.join(',\n')}\n)${dialect === 'sqlite' ? sqliteTableOptions(table) : ''}`;
}

/**
 * Without a rowid the primary key is the table: one tree to write instead of two. SQLite advises against it for rows
 * larger than a twentieth of a page, since such tables keep whole rows in their inner pages: tables with documents keep
 * their rowid.
 */
function sqliteTableOptions(table: Table): string {
  const hasDocument = table.columns.some(({ name }) => DOCUMENT_COLUMNS.has(name));
  return hasDocument ? ' STRICT' : ' STRICT, WITHOUT ROWID';
}

function columnSql(dialect: Dialect, column: Column): string {
  const nullability = column.isNullable ? '' : ' NOT NULL';
  if (column.type === 'bigint') return `${column.name} ${dialect === 'sqlite' ? 'INTEGER' : 'bigint'}${nullability}`;
  // Ids are paged and compared by bytes: PostgreSQL's default collation would order them by language, which depends on
  // the host.
  return `${column.name} ${dialect === 'sqlite' ? 'TEXT' : 'text COLLATE "C"'}${nullability}`;
}

function createIndexSql(index: Index): string {
  return `CREATE ${index.isUnique ? 'UNIQUE ' : ''}INDEX ${index.name} ON ${index.table} (${index.columns.join(', ')})`;
}

export function table(name: string, columns: readonly Column[], primaryKey: readonly string[]): MigrationStep {
  return { do: 'create_table', table: { name, columns, primaryKey } };
}

export function index(tableName: string, columns: readonly string[], options = { isUnique: false }): MigrationStep {
  const name = indexName(tableName, columns);
  return { do: 'create_index', index: { name, table: tableName, columns, isUnique: options.isUnique } };
}

export function dropIndex(tableName: string, columns: readonly string[]): MigrationStep {
  return { do: 'drop_index', index: indexName(tableName, columns) };
}

function indexName(tableName: string, columns: readonly string[]): string {
  return `${tableName}_by_${columns.join('_')}`;
}

export function dropTable(name: string): MigrationStep {
  return { do: 'drop_table', table: name };
}

export function counter(name: string): MigrationStep {
  return { do: 'add_counter', counter: name };
}

export function textColumn(name: string): Column {
  return { name, type: 'text', isNullable: false };
}

export function nullableText(name: string): Column {
  return { name, type: 'text', isNullable: true };
}

export function bigintColumn(name: string): Column {
  return { name, type: 'bigint', isNullable: false };
}

export function nullableBigint(name: string): Column {
  return { name, type: 'bigint', isNullable: true };
}
