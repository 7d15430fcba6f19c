import { readFileSync } from 'node:fs';

/** The tables of `spec/interface.md`: the walk takes method, path and status from there. */
export interface OperationRow {
  readonly section: string;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly successStatus: number;
  readonly success: string;
}

export interface FieldRow {
  readonly section: string;
  readonly heading: string;
  readonly field: string;
  readonly type: string;
  readonly meaning: string;
}

const lines = readFileSync(new URL('../../spec/interface.md', import.meta.url), 'utf8').split('\n');

export const operationRows: readonly OperationRow[] = rowsUnder('Operation').map(({ section, cells }) => ({
  section,
  operation: cells[0] as string,
  method: cells[1] as string,
  path: cells[2] as string,
  body: cells[3] as string,
  successStatus: Number.parseInt(cells[4] as string, 10),
  success: cells[4] as string,
}));

export const fieldRows: readonly FieldRow[] = rowsUnder('Field').map(({ section, heading, cells }) => ({
  section,
  heading,
  field: cells[0] as string,
  type: cells[1] as string,
  meaning: cells[2] as string,
}));

export function operationRow(operation: string): OperationRow {
  const row = operationRows.find((each) => each.operation === operation);
  if (row === undefined) throw new Error(`spec/interface.md has no operation "${operation}"`);
  return row;
}

/** The fields of a table, by its section and, where a section has two tables, the line that introduces it. */
export function fieldsOf(section: string, heading?: string): readonly FieldRow[] {
  const rows = fieldRows.filter(
    (row) => row.section === section && (heading === undefined || row.heading.startsWith(heading)),
  );
  if (rows.length === 0) throw new Error(`spec/interface.md has no fields in ${section} ${heading ?? ''}`);
  return rows;
}

interface TableRow {
  readonly section: string;
  readonly heading: string;
  readonly cells: readonly string[];
}

/** Rows of all tables with this first column. */
function rowsUnder(firstColumn: string): readonly TableRow[] {
  const rows: TableRow[] = [];
  let section = '';
  let heading = '';
  let column = '';
  for (const line of lines) {
    const title = /^#{2,3} ([\d.]+?)\.? (.*)$/.exec(line);
    if (title !== null) [section, heading] = [title[1] as string, title[2] as string];
    const cells = line.startsWith('|')
      ? line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim())
      : [];
    if (cells.length === 0) {
      column = '';
      if (title === null && line.trim() !== '') heading = line.trim();
    } else if (column === '') column = cells[0] as string;
    else if (column === firstColumn && !/^-+$/.test(cells[0] as string)) rows.push({ section, heading, cells });
  }
  return rows;
}
