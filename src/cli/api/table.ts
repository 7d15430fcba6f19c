import type { TSchema } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { isObjectSchema, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { cut, padTo, widthOf } from '../agent/output/styled-text.ts';
import { cellText, EMPTY } from './cell-text.ts';

const MAX_COLUMNS = 6;
const MIN_WIDTH = 10;
const GAP = '  ';
/** Omitted from tables: they say little about one item among many. */
const LEFT_OUT = new Set(['uri', 'metadata']);
const FIRST = ['id', 'type'];
const LAST = ['description', 'created_at'];

interface Column {
  readonly name: string;
  /** Ids are never truncated: users copy them. */
  readonly isId: boolean;
  readonly cells: readonly string[];
}

export interface TableLayout {
  readonly schema: TSchema;
  /** Fields that are equal in every row because the command named them. */
  readonly leftOut: readonly string[];
  /** Null is for a pipe, where nothing is truncated. */
  readonly terminalWidth: number | null;
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

function chooseColumns(items: readonly JsonObject[], { schema, leftOut }: TableLayout): readonly Column[] {
  const fields = isObjectSchema(schema) ? Object.entries(schema.properties) : [];
  const isLeftOut = (name: string): boolean => LEFT_OUT.has(name) || leftOut.includes(name);
  const shown = fields.filter(([name, field]) => !isLeftOut(name) && isShort(field)).map(([name]) => name);
  const middle = shown.filter((name) => !FIRST.includes(name) && !LAST.includes(name));
  const ordered = [...FIRST, ...middle, ...LAST].filter((name) => shown.includes(name));
  const columns = ordered
    .map((name) => ({ name, isId: isIdField(name, items), cells: items.map((item) => cellText(item[name])) }))
    .filter(({ name, cells }) => FIRST.includes(name) || cells.some((cell) => cell !== EMPTY))
    // A certificate does not fit into a cell.
    .filter(({ name }) => !items.some((item) => typeof item[name] === 'string' && item[name].includes('\n')));
  return [...columns.slice(0, MAX_COLUMNS - 1), ...columns.slice(MAX_COLUMNS - 1).slice(-1)];
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

/** Narrows the widest texts first, then drops columns from the right. */
function fit(columns: readonly Column[], terminalWidth: number | null): { column: Column; width: number }[] {
  const sized = columns.map((column) => ({
    column,
    width: Math.max(column.name.length, ...column.cells.map(widthOf)),
  }));
  if (terminalWidth === null) return sized;
  const total = (): number => sized.reduce((sum, { width }) => sum + width, GAP.length * (sized.length - 1));
  while (total() > terminalWidth) {
    const [widest] = sized
      .filter(({ column, width }) => !column.isId && width > MIN_WIDTH)
      .sort((a, b) => b.width - a.width);
    if (widest !== undefined) widest.width -= 1;
    else if (!dropLast(sized)) break;
  }
  return sized;
}

function dropLast(sized: { column: Column; width: number }[]): boolean {
  const index = sized.findLastIndex(({ column }, at) => at > 0 && column.name !== 'id');
  if (index === -1) return false;
  sized.splice(index, 1);
  return true;
}
