import type { TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../../src/kit/json.ts';

/** JSON Schema as far as our operations use it. */
export interface FieldSchema {
  readonly type?: string;
  readonly enum?: readonly JsonValue[];
  readonly const?: JsonValue;
  readonly anyOf?: readonly FieldSchema[];
  readonly default?: JsonValue;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, FieldSchema>>;
  readonly additionalProperties?: boolean | FieldSchema;
  readonly items?: FieldSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
  readonly description?: string;
}

export function fieldSchema(schema: TSchema): FieldSchema {
  return schema as FieldSchema;
}

export interface WrongValue {
  readonly value: JsonValue;
  /** Below the field itself, where an item is at fault. */
  readonly at?: string;
}

const OF_EACH_TYPE: readonly JsonValue[] = ['word', 7, true, ['word'], { word: 'word' }];

/** Values that the field's schema rejects. Never null or "", which may mean "absent". */
export function wrongValues(schema: FieldSchema): readonly WrongValue[] {
  const { anyOf } = schema;
  if (anyOf !== undefined) {
    const others = (one: FieldSchema) => anyOf.filter((other) => other !== one);
    return anyOf.flatMap((one) =>
      wrongValues(one).filter(({ value }) => others(one).every((other) => !isOfType(value, other))),
    );
  }
  const values: WrongValue[] = OF_EACH_TYPE.filter((value) => !isOfType(value, schema)).map((value) => ({ value }));
  if (schema.type === 'integer') {
    const beyond = [(schema.minimum ?? 0) - 1, (schema.maximum ?? 0) + 1, -1, 1.5, 2 ** 53, 1e300];
    values.push(...beyond.filter((value) => !isWithin(value, schema)).map((value) => ({ value })));
    values.push({ value: '60' }, { value: '' });
  }
  if (schema.maxLength !== undefined) values.push({ value: 'x'.repeat(schema.maxLength + 1) });
  if (schema.type === 'array') {
    values.push({ value: [null], at: '/0' }, { value: [7], at: '/0' }, { value: [['word']], at: '/0' });
    values.push({ value: Array.from({ length: (schema.maxItems ?? 0) + 1 }, (_, index) => `word${index}`) });
    if (schema.minItems !== undefined) values.push({ value: [] });
  }
  if (schema.patternProperties !== undefined) {
    const [item] = Object.values(schema.patternProperties) as [FieldSchema];
    // A map of anything, such as claims, has no wrong items.
    if (Object.keys(item).length > 0) {
      values.push({ value: { word: null }, at: '/word' });
      const isList = (item.anyOf ?? [item]).some((each) => isOfType(['word'], each));
      if (!isList) values.push({ value: { word: ['word'] }, at: '/word' });
    }
    const names = Array.from({ length: (schema.maxProperties ?? 0) + 1 }, (_, index) => `word${index}`);
    values.push({ value: Object.fromEntries(names.map((name) => [name, leastValue(item)])) });
    if (schema.minProperties !== undefined) values.push({ value: {} });
  }
  return schema.items?.type === 'object'
    ? values.filter(({ at, value }) => at !== undefined || !Array.isArray(value))
    : values;
}

function isOfType(value: JsonValue, schema: FieldSchema): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.type === 'null') return value === null;
  if (schema.type === 'array') return Array.isArray(value);
  if (schema.type === 'object') return typeof value === 'object' && !Array.isArray(value);
  return schema.type === 'integer' ? typeof value === 'number' : typeof value === schema.type;
}

function isWithin(value: number, { minimum = -Infinity, maximum = Infinity }: FieldSchema): boolean {
  return Number.isInteger(value) && value >= minimum && value <= maximum;
}

/** The smallest value that the schema accepts; for objects inside a body. */
export function leastValue(schema: FieldSchema): JsonValue {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0] as JsonValue;
  if (schema.properties !== undefined) {
    const required = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name));
    return Object.fromEntries(required.map(([name, field]) => [name, leastValue(field)])) as JsonObject;
  }
  if (schema.type === 'array') return [];
  if (schema.type === 'boolean') return false;
  return schema.type === 'integer' || schema.type === 'number' ? (schema.minimum ?? 0) : 'word';
}

/** Swaps two letters in the middle, a common typo. */
export function misspelled(name: string): string {
  const letters = name.split('');
  for (let at = Math.floor(name.length / 2); at < name.length; at += 1) {
    const [one, other] = [letters[at - 1] as string, letters[at] as string];
    if (one === other) continue;
    letters.splice(at - 1, 2, other, one);
    return letters.join('');
  }
  return `${name}s`;
}
