import type { RawAnswer } from '../../client/transport.ts';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { CommandContext } from '../command.ts';
import { cellText } from './cell-text.ts';
import type { OperationDescription } from './operation-list.ts';
import { recordView } from './record-view.ts';
import { listItems, pathParameters } from './resource-names.ts';
import { table } from './table.ts';

const DEFAULT_WIDTH = 80;

/** For people: a table for a list, names and values for one thing, a word for nothing. */
export function showAnswer(
  operation: OperationDescription,
  answer: RawAnswer,
  body: JsonObject | null,
  context: CommandContext,
): void {
  if (body === null) {
    context.warn(`${operation.success.description.replace(/\.$/, '')} (${answer.info.status})`);
    return;
  }
  const list = listItems(operation);
  if (list === null) {
    for (const line of recordView(body, operation.success.schema)) context.print(line);
    return;
  }
  const items = (body[list.key] ?? []) as readonly JsonObject[];
  if (items.length === 0) context.warn('none');
  else {
    const layout = {
      schema: list.item,
      leftOut: pathParameters(operation.path),
      terminalWidth: terminalWidth(context),
    };
    for (const line of table(items, layout)) context.print(line);
  }
  if (typeof body['next_page_uri'] === 'string') {
    context.warn(`there are more: --all shows every one, --before-id ${cellText(items.at(-1)?.['id'])} the next page`);
  }
}

/** Null: nobody looks, nothing is cut. */
function terminalWidth({ isTerminal, env }: CommandContext): number | null {
  if (!isTerminal) return null;
  const columns = Number(env['COLUMNS'] ?? process.stdout.columns);
  return Number.isInteger(columns) && columns > 0 ? columns : DEFAULT_WIDTH;
}

export function parseAnswer(text: string): JsonObject | null {
  if (text === '') return null;
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new SyntaxError('not an object');
  return value;
}
