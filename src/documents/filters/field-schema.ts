import type { TSchema } from 'typebox';
import { isObjectSchema } from '../../lib/schema/schema-facts.ts';

interface Keywords {
  readonly type?: string;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
}

/** What is known about the value at a place of a document: its schema, or nothing. */
export type Known = TSchema | null;

/** The schema of a member; `unknown` if the document never has it. */
export function memberOf(known: Known, name: string | number): Known | 'unknown' {
  const schema = withoutNull(known);
  if (schema === null) return null;
  if (typeof name === 'number') return (schema as Keywords).items ?? null;
  if (!isObjectSchema(schema) || Object.keys(schema.properties).length === 0) return null;
  return Object.hasOwn(schema.properties, name) ? (schema.properties[name] as TSchema) : 'unknown';
}

export function memberNames(known: Known): readonly string[] {
  const schema = withoutNull(known);
  return schema !== null && isObjectSchema(schema) ? Object.keys(schema.properties) : [];
}

export type ScalarType = 'string' | 'number' | 'boolean';

/** The type of a scalar; null if it is not one, or may be of several types. */
export function scalarType(known: Known): ScalarType | null {
  const { type, enum: values } = (withoutNull(known) ?? {}) as Keywords & { readonly enum?: readonly unknown[] };
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean') return type;
  return values?.every((value) => typeof value === 'string') === true ? 'string' : null;
}

function withoutNull(known: Known): Known {
  const options = (known as Keywords | null)?.anyOf;
  if (options === undefined) return known;
  const others = options.filter((option) => (option as Keywords).type !== 'null');
  return others.length === 1 ? (others[0] ?? null) : null;
}
