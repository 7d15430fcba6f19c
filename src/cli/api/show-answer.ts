import { nextQuery } from '../../client/resource-client.ts';
import type { RawAnswer } from '../../client/transport.ts';
import { usage } from '../../lib/flags.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isObjectSchema } from '../../lib/schema/schema-facts.ts';
import { didYouMean } from '../../lib/text/near-match.ts';
import type { CommandContext } from '../command.ts';
import { printTableLines } from '../output/rows-table.ts';
import { cellText, printable } from './cell-text.ts';
import { maskInnerSecrets, schemaOfField } from './mask-secrets.ts';
import type { OperationDescription } from './operation-list.ts';
import { recordView } from './record-view.ts';
import { listItems, pathParameters } from './resource-names.ts';
import { table } from './table.ts';
import { terminalWidth } from './terminal-width.ts';

/** For people: a table for a list, names and values for one object, a word for an empty response. */
export function showAnswer(
  operation: OperationDescription,
  answer: RawAnswer,
  body: JsonObject | null,
  context: CommandContext,
  isUtc: boolean,
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
      isUtc,
    };
    printTableLines(table(items, layout), context);
  }
  if (typeof body['next_page_uri'] === 'string') {
    const { before_revision: revision } = nextQuery(body['next_page_uri']);
    const next =
      revision === undefined ? `--before-id ${cellText(items.at(-1)?.['id'])}` : `--before-revision ${revision}`;
    context.warn(`more results exist: use --all for all of them, or ${next} for the next page`);
  }
}

/** Finds a misspelled field before the request is sent: a command that fails must not have created anything. */
export function checkOnly(operation: OperationDescription, field: string): void {
  const shown = listItems(operation)?.item ?? operation.success.schema;
  const known = shown !== null && isObjectSchema(shown) ? Object.keys(shown.properties) : [];
  const [name = ''] = field.split('.');
  if (!known.includes(name))
    throw usage(
      `--only ${field}: the response has no such field.${didYouMean(name, known)} Its fields: ${known.join(', ')}`,
    );
}

/**
 * For scripts: one field, one line per object, empty where it is absent. A secret is shown when the field is named
 * directly: `--only routes` masks what `--only client_secret` shows.
 */
export function showOnly(
  operation: OperationDescription,
  body: JsonObject,
  field: string,
  context: CommandContext,
): void {
  const list = listItems(operation);
  const items = list === null ? [body] : ((body[list.key] ?? []) as readonly JsonObject[]);
  const names = field.split('.');
  const schema = names.reduce(schemaOfField, list?.item ?? operation.success.schema);
  for (const item of items) {
    const named = names.reduce<JsonValue>((at, name) => (isJsonObject(at) ? (at[name] ?? null) : null), item);
    const value = maskInnerSecrets(named, schema);
    context.print(shownValue(value, context));
  }
}

/** Unchanged for a script. A terminal gets no control characters. */
function shownValue(value: JsonValue, { isTerminal }: CommandContext): string {
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  return isTerminal ? text.split(/\r?\n/).map(printable).join('\n') : text;
}

export function parseAnswer(text: string): JsonObject | null {
  if (text === '') return null;
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new SyntaxError('not an object');
  return value;
}
