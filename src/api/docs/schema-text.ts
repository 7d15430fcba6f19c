import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { type Html, html } from './html.ts';

/** A short name of a value's type; named objects link to their description. */
export function typeText(schema: JsonObject): Html {
  const name = componentName(schema);
  if (name !== null) return html`<a href="#schema-${name}">${name}</a>`;
  const options = schema['anyOf'] as readonly JsonObject[] | undefined;
  if (options !== undefined) return html`${options.map((option, index) => [index > 0 && ' or ', typeText(option)])}`;
  const items = schema['items'];
  if (isJsonObject(items)) return html`list of ${typeText(items)}`;
  const values = schema['additionalProperties'];
  if (isJsonObject(values)) return html`map of ${typeText(values)}`;
  const type = schema['type'] ?? 'any';
  return html`${schema['format'] === 'date-time' ? 'time' : Array.isArray(type) ? type.join(' or ') : (type as string)}`;
}

/** Facts that the type does not express: allowed values, bounds, the default. */
export function constraintTexts(schema: JsonObject): readonly string[] {
  const words: string[] = [];
  const say = (keyword: string, text: (value: JsonValue) => string): void => {
    const value = schema[keyword];
    if (value !== undefined) words.push(text(value));
  };
  say('enum', (values) => `one of ${(values as readonly JsonValue[]).map(shown).join(', ')}`);
  say('const', (value) => `always ${shown(value)}`);
  say('minimum', (value) => `at least ${shown(value)}`);
  say('maximum', (value) => `at most ${shown(value)}`);
  say('minLength', (value) => `at least ${shown(value)} ${plural('character', value)}`);
  say('maxLength', (value) => `at most ${shown(value)} ${plural('character', value)}`);
  say('minItems', (value) => `at least ${shown(value)} ${plural('item', value)}`);
  say('maxItems', (value) => `at most ${shown(value)} ${plural('item', value)}`);
  say('minProperties', (value) => `at least ${shown(value)} ${plural('entry', value)}`);
  say('maxProperties', (value) => `at most ${shown(value)} ${plural('entry', value)}`);
  say('pattern', (value) => `matches ${value as string}`);
  say('default', (value) => `default ${shown(value)}`);
  return words;
}

export function componentName(schema: JsonObject): string | null {
  const ref = schema['$ref'];
  return typeof ref === 'string' ? (ref.split('/').at(-1) ?? null) : null;
}

function shown(value: JsonValue): string {
  return JSON.stringify(value);
}

function plural(noun: string, count: JsonValue): string {
  if (count === 1) return noun;
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}
