import type { TSchema } from 'typebox';
import { nextQuery } from '../../../client/resource-client.ts';
import type { RawAnswer } from '../../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { isObjectSchema, SECRET_MASK, secretVisibility } from '../../../kit/schema/schema-facts.ts';
import { didYouMean } from '../../../kit/text/near-match.ts';
import type { CommandContext } from '../command.ts';
import { cellText, printable } from '../output/cell-text.ts';
import { type OutputFormat, parseFormat } from '../output/output-format.ts';
import { printTableLines, table } from '../output/table.ts';
import { terminalWidth } from '../output/terminal.ts';
import { listItems, pathParameters } from './api-resources.ts';
import type { OperationDescription } from './operation-list.ts';

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
function checkOnly(operation: OperationDescription, field: string): void {
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

/** How the response is printed: `only` is the one field that is printed of each object. */
export interface ShownForm {
  readonly format: OutputFormat;
  readonly only: string | null;
  /** Times of tables; otherwise they are local. */
  readonly isUtc: boolean;
}

/**
 * Finds contradictions and misspelled fields before the request is sent: a command that fails must not have created
 * anything.
 */
export function shownForm(operation: OperationDescription, parsed: ParsedFlags): ShownForm {
  const { flags } = parsed;
  const [output, only] = [flags.get('output'), flags.get('only')];
  const isJson = isOn(parsed, 'json');
  const format = output === undefined ? (isJson ? 'json' : 'table') : parseFormat(output);
  if (isJson && format !== 'json') throw usage('use --json or --output, not both');
  if (only !== undefined && output !== undefined) throw usage('use --only or --output, not both');
  const field = only ?? (format === 'id' && operation.success.schema !== null ? 'id' : undefined);
  if (field !== undefined) checkOnly(operation, field);
  return { format, only: field ?? null, isUtc: isOn(parsed, 'utc') };
}

type Row = readonly [name: string, text: string];

/** One object as lines of name and value; fields of nested objects use dots. */
function recordView(body: JsonObject, schema: TSchema | null): readonly string[] {
  const rows = rowsOf(body, schema, '');
  const width = Math.max(0, ...rows.map(([name]) => name.length)) + 2;
  return rows.flatMap(([name, text]) => {
    const [first = '', ...more] = text.split('\n');
    return [`${name.padEnd(width)}${first}`, ...more.map((line) => `${' '.repeat(width)}${line}`)];
  });
}

function rowsOf(body: JsonObject, schema: TSchema | null, prefix: string): readonly Row[] {
  return Object.entries(body).flatMap(([name, value]): readonly Row[] => {
    const field = fieldOf(schema, name);
    const label = `${prefix}${printable(name)}`;
    if (isHidden(field, value)) return [[label, '(set; --json shows it)']];
    if (isJsonObject(value) && !isNamed(value) && isFlattened(field)) return rowsOf(value, field, `${label}.`);
    return [[label, lines(value)]];
  });
}

/** Secrets that can be read again at any time are hidden on a screen. Those that are shown once must be visible. */
function isHidden(field: TSchema | null, value: JsonValue): boolean {
  return field !== null && secretVisibility(field) === 'readable' && value !== '' && value !== null;
}

function isNamed(value: JsonObject): boolean {
  return typeof value['id'] === 'string' && Object.keys(value).length === 2 && 'uri' in value;
}

function isFlattened(field: TSchema | null): boolean {
  return field === null || isObjectSchema(field);
}

/** Through `… | null`. */
function fieldOf(schema: TSchema | null, name: string): TSchema | null {
  if (schema === null || !isObjectSchema(schema)) return null;
  const field = schema.properties[name];
  const { anyOf } = (field ?? {}) as { anyOf?: readonly TSchema[] };
  return anyOf?.find((each) => isObjectSchema(each)) ?? field ?? null;
}

/** Keeps line breaks; removes control characters from each line. */
function lines(value: JsonValue): string {
  if (typeof value !== 'string' || !value.includes('\n')) return cellText(value);
  return value.trimEnd().split(/\r?\n/).map(printable).join('\n');
}

/** The schema of a field, through lists and `… | null`; null where the schema does not define it. */
function schemaOfField(schema: TSchema | null, name: string): TSchema | null {
  const inside = schema === null ? null : objectIn(schema);
  return inside !== null && isObjectSchema(inside) ? (inside.properties[name] ?? null) : null;
}

/**
 * The value with nested secrets masked. The value itself was requested and stays. Secrets that are shown only once stay
 * too: they cannot be read again.
 */
function maskInnerSecrets(value: JsonValue, schema: TSchema | null): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => maskInnerSecrets(item, schema));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const field = schemaOfField(schema, name);
      const isSecret = field !== null && secretVisibility(field) === 'readable' && inner !== '' && inner !== null;
      return [name, isSecret ? SECRET_MASK : maskInnerSecrets(inner as JsonValue, field)];
    }),
  );
}

function objectIn(schema: TSchema): TSchema | null {
  if (isObjectSchema(schema)) return schema;
  const { items, anyOf } = schema as { items?: TSchema; anyOf?: readonly TSchema[] };
  if (items !== undefined) return objectIn(items);
  return anyOf?.map(objectIn).find((each) => each !== null) ?? null;
}
