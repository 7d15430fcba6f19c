import type { Dialect } from '../../src/store/sql/schema/schema.ts';
import type { Program, Row, Statement } from '../../src/store/sql/statement.ts';

/** A table that a statement reads completely, according to the engine's own plan. */
export interface TableScan {
  readonly table: string;
  readonly sql: string;
}

interface PostgresPlan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PostgresPlan[];
}

const EXPLAIN: Readonly<Record<Dialect, string>> = {
  sqlite: 'EXPLAIN QUERY PLAN ',
  postgres: 'EXPLAIN (FORMAT JSON) ',
};

/** Runs the program, and requests the plan of every statement before it. */
export function* explained<Result>(
  dialect: Dialect,
  program: Program<Result>,
  onScan: (scan: TableScan) => void,
): Program<Result> {
  let step = program.next([]);
  while (!step.done) {
    const { sql, params } = step.value;
    const plan = yield { sql: `${EXPLAIN[dialect]}${sql}`, params } satisfies Statement;
    const tables = dialect === 'sqlite' ? sqliteScans(plan) : postgresScans(plan);
    for (const table of tables) onScan({ table, sql: sql.replace(/\s+/g, ' ') });
    step = program.next(yield step.value);
  }
  return step.value;
}

/** Names of intermediate results in the store's statements: lists of values, pages, the cascade. */
const NO_TABLES: ReadonlySet<string> = new Set(['CONSTANT', 'given', 'gone', 'head', 'near', 'oldest', 'page', 'part']);

/** `SCAN t` reads all of it, also `USING … INDEX`; `SEARCH t` finds its rows. A number counts the rows of `VALUES`. */
function sqliteScans(plan: readonly Row[]): string[] {
  return plan.flatMap(({ detail }) => {
    const [, table = ''] = /^SCAN ([a-zA-Z]\w*)/.exec(String(detail)) ?? [];
    return table === '' || NO_TABLES.has(table) ? [] : [table];
  });
}

/** Sequential scans must be made expensive beforehand: small tables are read whole because they are small. */
function postgresScans([row]: readonly Row[]): string[] {
  if (row === undefined) throw new Error('PostgreSQL gave no plan');
  const [{ Plan: root }] = row['QUERY PLAN'] as unknown as [{ readonly Plan: PostgresPlan }];
  const found: string[] = [];
  const visit = (node: PostgresPlan): void => {
    const isScan = node['Node Type'] === 'Seq Scan' || /^Index.* Scan$/.test(node['Node Type']);
    if (isScan && node['Index Cond'] === undefined) found.push(String(node['Relation Name']));
    for (const child of node.Plans ?? []) visit(child);
  };
  visit(root);
  return found;
}
