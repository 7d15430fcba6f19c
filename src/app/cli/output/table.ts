import type { TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { isObjectSchema, secretVisibility } from '../../../kit/schema/schema-facts.ts';
import type { CommandContext } from '../command.ts';
import { cellText, EMPTY, minuteText } from './cell-text.ts';
import { cut, padTo, widthOf } from './styled-text.ts';
import { painterFor, terminalWidth } from './terminal.ts';

const MAX_COLUMNS = 6;
const MIN_WIDTH = 14;
/** The kind and some letters, which tell items apart. */
const MIN_ID_WIDTH = 16;
const GAP = '  ';
/** Omitted from tables: they say little about one item among many. */
const LEFT_OUT = new Set(['uri', 'metadata']);
/** What a person knows an item by stands first, and its id last. */
const KNOWN_BY = ['email', 'hostports', 'hostname', 'host', 'title'];
/** The same, but commands do not take it in place of an id: ids beside it are whole. */
const NAMED_BY = ['name', 'match', 'address', 'cidr', 'ip'];
const LAST = ['description', 'created_at', 'id'];
/** Shown even if it is empty in every row. */
const ALWAYS = ['type', 'id'];

interface Column {
  readonly name: string;
  /**
   * Beside an address or host, which every command takes too, ids shrink first. Alone they are never cut: users copy
   * them.
   */
  readonly isId: boolean;
  /** Never cut: half of a time is none. */
  readonly isTime: boolean;
  readonly cells: readonly string[];
}

interface Sized {
  readonly column: Column;
  width: number;
}

interface TableLayout {
  readonly schema: TSchema;
  /** Fields that are equal in every row because the command named them. */
  readonly leftOut: readonly string[];
  /** Null is for a pipe, where nothing is truncated. */
  readonly terminalWidth: number | null;
  /** Times on a terminal are local without it. */
  readonly isUtc?: boolean;
}

/** Lines of a table of the items, truncated to the terminal's width. */
export function table(items: readonly JsonObject[], layout: TableLayout): readonly string[] {
  const columns = fit(chooseColumns(items, layout), layout.terminalWidth);
  const line = (texts: readonly string[]): string =>
    columns
      .map(({ width }, index) => padTo(cut(texts[index] ?? '', width), width))
      .join(GAP)
      .trimEnd();
  const head = line(columns.map(({ column }) => column.name.toUpperCase()));
  return [head, ...items.map((_, row) => line(columns.map(({ column }) => column.cells[row] ?? '')))];
}

function chooseColumns(
  items: readonly JsonObject[],
  { schema, leftOut, terminalWidth, isUtc = false }: TableLayout,
): readonly Column[] {
  const fields = isObjectSchema(schema) ? Object.entries(schema.properties) : [];
  const isLeftOut = (name: string): boolean => LEFT_OUT.has(name) || leftOut.includes(name);
  const shown = fields.filter(([name, field]) => !isLeftOut(name) && isShort(field)).map(([name]) => name);
  const names = [...KNOWN_BY, ...NAMED_BY].filter((name) => shown.includes(name));
  // An API key has nothing else that tells people what it is.
  const first = [...(names.length === 0 ? ['description'] : names), 'type'];
  const middle = shown.filter((name) => ![...first, ...LAST].includes(name));
  const ordered = [...new Set([...first, ...middle, ...LAST])].filter((name) => shown.includes(name));
  const columns = ordered
    .map((name) => ({ name, isId: isIdField(name, items), ...cellsOf(items, name, terminalWidth !== null, isUtc) }))
    .filter(({ name, cells }) => ALWAYS.includes(name) || cells.some((cell) => cell !== EMPTY))
    // A certificate does not fit into a cell.
    .filter(({ name }) => !items.some((item) => typeof item[name] === 'string' && item[name].includes('\n')));
  const [ids, others] = [columns.filter(({ name }) => name === 'id'), columns.filter(({ name }) => name !== 'id')];
  return [...others.slice(0, MAX_COLUMNS - 2), ...others.slice(MAX_COLUMNS - 2).slice(-1), ...ids];
}

/** A person at a terminal reads times of that place. */
function cellsOf(
  items: readonly JsonObject[],
  name: string,
  isTerminal: boolean,
  isUtc: boolean,
): Pick<Column, 'cells' | 'isTime'> {
  const cells = items.map((item) => cellText(item[name]));
  if (!isTerminal) return { cells, isTime: false };
  const times = cells.map((cell) => minuteText(cell, isUtc));
  return { cells: times.map((time, at) => time ?? cells[at] ?? ''), isTime: times.some((time) => time !== null) };
}

function isShort(field: TSchema): boolean {
  const { type, anyOf, items } = field as { type?: string; anyOf?: readonly TSchema[]; items?: TSchema };
  if (secretVisibility(field) !== undefined) return false;
  if (anyOf !== undefined) return anyOf.every((each) => isShort(each));
  if (type === 'array') return items !== undefined && isShort(items);
  return !isObjectSchema(field) || isRef(field);
}

function isRef(field: TSchema): boolean {
  const own = isObjectSchema(field) ? Object.keys(field.properties) : [];
  return own.length === 2 && own.every((name) => name === 'id' || name === 'uri');
}

function isIdField(name: string, items: readonly JsonObject[]): boolean {
  return name === 'id' || items.some((item) => /^[a-z]+_[0-9A-Za-z]{27}\b/.test(cellText(item[name])));
}

/**
 * Narrows ids first, then the widest texts. If that is not enough, it does the same without the last column. What a
 * person knows an item by is cut last.
 */
function fit(columns: readonly Column[], terminalWidth: number | null): Sized[] {
  const sized = columns.map((column) => ({
    column,
    width: Math.max(column.name.length, ...column.cells.map(widthOf)),
  }));
  if (terminalWidth === null) return sized;
  const hasKnown = columns.some(isKnownBy);
  const total = (): number => sized.reduce((sum, { width }) => sum + width, GAP.length * (sized.length - 1));
  const narrow = (isNarrowed: (each: Sized) => boolean): boolean => {
    const [widest] = sized.filter(isNarrowed).sort((a, b) => b.width - a.width);
    if (widest !== undefined) widest.width -= 1;
    return widest !== undefined;
  };
  while (total() > terminalWidth) {
    if (narrow(({ column, width }) => hasKnown && column.isId && width > MIN_ID_WIDTH)) continue;
    if (narrow(({ column, width }) => isCut(column) && width > MIN_WIDTH)) continue;
    const fewer = withoutLast(columns);
    if (fewer !== null) return fit(fewer, terminalWidth);
    if (!narrow(({ column, width }) => isKnownBy(column) && width > MIN_WIDTH)) break;
  }
  return sized;
}

function isCut(column: Column): boolean {
  return !column.isId && !column.isTime && !isKnownBy(column);
}

function isKnownBy({ name }: Column): boolean {
  return KNOWN_BY.includes(name);
}

/** Null: nothing can be left out. */
function withoutLast(columns: readonly Column[]): readonly Column[] | null {
  const last = columns.findLastIndex((column, at) => at > 0 && column.name !== 'id' && !isKnownBy(column));
  return last === -1 ? null : columns.filter((_, at) => at !== last);
}

/** Prints rows as a table that fits the terminal; the names of the first row's fields are the columns. */
export function printTable(
  rows: readonly Readonly<Record<string, JsonValue>>[],
  context: CommandContext,
  { isUtc = false }: { readonly isUtc?: boolean } = {},
): void {
  const [first] = rows;
  if (first === undefined) return;
  const properties = Object.fromEntries(Object.keys(first).map((name) => [name, {}]));
  const schema = { type: 'object', properties } as TSchema;
  printTableLines(table(rows, { schema, leftOut: [], terminalWidth: terminalWidth(context), isUtc }), context);
}

/** The first line is the head. */
export function printTableLines([head = '', ...lines]: readonly string[], context: CommandContext): void {
  context.print(painterFor(context)(head, 'bold'));
  for (const line of lines) context.print(line);
}
