import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { didYouMean } from '../text/near-match.ts';
import { RFC3339_FORM } from '../text/time.ts';
import { type FieldProblem, lastName, pointerTo } from './field-problem.ts';
import { isObjectSchema } from './schema-facts.ts';

export interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/**
 * Turns a validator's findings into sentences that name the field and its allowed values. There is always at least one:
 * the validator stops after a few findings, and a rejection without a problem would look like success.
 */
export function describeProblems(
  form: TObject,
  errors: readonly SchemaError[],
  decodedApart: readonly string[],
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const error of errors) {
    const at = schemaAt(form, error.instancePath);
    const params = error.params as Record<string, unknown>;
    if (error.keyword === 'boolean') {
      // One for each unknown field; the summary, under "additionalProperties", comes last and may be cut off.
      const own = at !== undefined && isObjectSchema(at) ? Object.keys(at.properties) : [];
      const known = at === form ? [...own, ...decodedApart] : own;
      problems.push({ path: error.instancePath, message: unknownField(lastName(error.instancePath), known) });
    } else if (error.keyword === 'required') {
      for (const name of params['requiredProperties'] as string[]) {
        problems.push({
          path: pointerTo(error.instancePath, name),
          message: `is required. ${describe(at === undefined ? at : child(at, name))}`.trim(),
        });
      }
    } else if (error.keyword !== 'additionalProperties') {
      problems.push({ path: error.instancePath, message: `${wordsOf(error)}. ${describe(at)}`.trim() });
    }
  }
  return problems.length > 0 ? problems : [{ path: '', message: 'is not valid here' }];
}

/** Types as people call them: the library says "must be array". */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  array: 'must be a list, such as ["a"]',
  boolean: 'must be true or false',
  integer: 'must be a whole number',
  number: 'must be a number',
  object: 'must be an object, such as {"name": "value"}',
  string: 'must be a text in quotes',
};

function typeWords(type: unknown): string | null {
  return typeof type === 'string' ? (TYPE_WORDS[type] ?? null) : null;
}

function wordsOf({ keyword, params, message }: SchemaError): string {
  const { format, allowedValues, type } = params as Readonly<Record<'format' | 'allowedValues' | 'type', unknown>>;
  if (keyword === 'enum' && Array.isArray(allowedValues))
    return `must be one of ${allowedValues.map((value) => JSON.stringify(value)).join(', ')}`;
  if (keyword === 'type') return typeWords(type) ?? message;
  return keyword === 'format' && format === 'date-time' ? `must be ${RFC3339_FORM}` : message;
}

function unknownField(name: string, known: readonly string[]): string {
  const list = known.length > 0 ? ` Known fields: ${known.join(', ')}.` : ' No fields are allowed here.';
  return `is not a known field.${didYouMean(name, known)}${list}`;
}

function describe(schema: TSchema | undefined): string {
  return (schema as { description?: string } | undefined)?.description ?? '';
}

function schemaAt(root: TSchema, path: string): TSchema | undefined {
  let at: TSchema | undefined = root;
  for (const segment of path.split('/').slice(1)) {
    if (at === undefined) return undefined;
    at = child(at, segment.replaceAll('~1', '/').replaceAll('~0', '~')) ?? at;
  }
  return at;
}

function child(schema: TSchema, name: string): TSchema | undefined {
  if (isObjectSchema(schema)) return Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
  const { items } = schema as { items?: TSchema };
  // For list items without fields and for map values: the list's own description says more than the item's type.
  return items !== undefined && isObjectSchema(items) ? items : undefined;
}

/** More than any list or map may contain here, so that an oversized one stays oversized. */
const MAX_MEMBERS = 1001;
/** A problem points to its field by the full name up to this length. */
const MAX_NAME_LENGTH = 8192;
/** Deeper than any schema. */
const MAX_DEPTH = 16;
/** In all: the validator takes 4 µs for each. */
const MAX_VALUES = 1500;

interface Clipped {
  readonly body: JsonValue;
  /** Whether nothing was left out but what no valid body has. */
  readonly isWhole: boolean;
}

/** A body without most of its excess, for messages about it: long lists, long names, deep nesting. */
export function clipped(body: JsonObject): Clipped {
  const budget = { left: MAX_VALUES };
  return { body: clippedValue(body, 0, budget), isWhole: budget.left > 0 };
}

function clippedValue(value: JsonValue, depth: number, budget: { left: number }): JsonValue {
  budget.left -= 1;
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) {
    const items: JsonValue[] = [];
    for (const item of value.slice(0, MAX_MEMBERS)) {
      if (budget.left <= 0) break;
      items.push(clippedValue(item, depth + 1, budget));
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const entries: [string, JsonValue][] = [];
  for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
    if (budget.left <= 0) break;
    entries.push([name.slice(0, MAX_NAME_LENGTH), clippedValue(value[name] as JsonValue, depth + 1, budget)]);
  }
  return Object.fromEntries(entries);
}
