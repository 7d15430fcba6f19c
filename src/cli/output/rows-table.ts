import type { TSchema } from 'typebox';
import type { JsonValue } from '../../lib/json.ts';
import { table } from '../api/table.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import type { CommandContext } from '../command.ts';
import { painterFor } from './color.ts';

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
