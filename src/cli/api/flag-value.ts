import type { TSchema } from 'typebox';
import { usage } from '../../lib/flags.ts';
import type { JsonValue } from '../../lib/json.ts';
import { DoubledNameError, parseUniqueJson } from '../../lib/text/json-shape.ts';
import { isObjectList, soleTextField } from './body-flags.ts';
import { type ApiFlag, canBeJson } from './flag.ts';
import type { TextSource } from './text-source.ts';

/** Converts a flag's text to the API's type. The API validates the value itself. */
export async function flagValue(flag: ApiFlag, given: readonly string[], source: TextSource): Promise<JsonValue> {
  const texts = await Promise.all(given.map((text) => source.expand(text, flag.name)));
  const [first = ''] = texts;
  if (canBeJson(flag) && !isObjectList(flag.schema as TSchema) && texts.length === 1 && /^\s*[[{]/.test(first))
    return parseJson(flag, first);
  switch (flag.kind) {
    case 'text':
    case 'repeated':
      return first;
    case 'switch':
      return first === 'true';
    case 'number':
      return numberOf(flag, first);
    case 'list':
      return isObjectList(flag.schema as TSchema) ? objectsOf(flag, texts) : listOf(flag, texts);
    case 'map':
      return mapOf(flag, texts);
    case 'object':
    case 'json':
      return parseJson(flag, first);
  }
}

function numberOf(flag: ApiFlag, text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw usage(`--${flag.name} takes a number`);
  return Number(text);
}

/** An empty text is an empty list: `--hostports=` removes all. */
function listOf(flag: ApiFlag, texts: readonly string[]): JsonValue {
  const items = texts.flatMap((text) => text.split(/[,\n]/)).map((item) => item.trim());
  const present = items.filter((item) => item !== '');
  const field = soleTextField(flag.schema as TSchema);
  return field === null ? present : present.map((item) => ({ [field]: item }));
}

/** Each text is a JSON object or a list of them. Rules of several fields are easier to write in a file. */
function objectsOf(flag: ApiFlag, texts: readonly string[]): JsonValue {
  return texts.flatMap((text) => {
    if (text.trim() === '') return [];
    if (!/^\s*[[{]/.test(text)) {
      throw usage(`--${flag.name} takes JSON objects, such as '[{…}]': write them to a file, and use --from-file FILE`);
    }
    return parseJson(flag, text);
  });
}

function mapOf(flag: ApiFlag, texts: readonly string[]): JsonValue {
  const { patternProperties = {} } = flag.schema as { patternProperties?: Readonly<Record<string, TSchema>> };
  const isNumeric = (Object.values(patternProperties)[0] as { type?: string } | undefined)?.type === 'integer';
  // A comma separates only before the next `name=`: header values contain commas themselves.
  const pairs = texts.flatMap((text) => text.split(/[,\n](?=\s*[^\s,=]+=)/)).filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at <= 0)
        throw usage(`--${flag.name} takes NAME=VALUE pairs, repeated or separated by commas, or a JSON object`);
      const value = pair.slice(at + 1);
      return [pair.slice(0, at).trim(), isNumeric ? numberOf(flag, value.trim()) : value];
    }),
  );
}

export function parseJson(flag: Pick<ApiFlag, 'name'>, text: string): JsonValue {
  try {
    return parseUniqueJson(text) as JsonValue;
  } catch (error) {
    if (error instanceof DoubledNameError) throw usage(`--${flag.name}: ${error.message}`);
    throw usage(
      `--${flag.name} takes JSON, and the value is not valid JSON: check the quotes of your shell. A text needs quotes of its own, such as '"5m"'`,
    );
  }
}
