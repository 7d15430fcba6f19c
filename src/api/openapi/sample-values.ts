import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { referenceAnnotation, refSchema } from '../../lib/schema/annotations.ts';
import { isObjectSchema, itemsWithSecrets, SECRET_MASK, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { defaultOf, hasDefault } from '../../lib/schema/wire-forms.ts';
import { SAMPLE_TIME } from './sample-ids.ts';

/** Lookups needed to fill a schema with sample values. */
export interface SampleWorld {
  /** A Ref for the id; without an id, for a sample of the kind. */
  refTo(target: { readonly id: string } | { readonly kind: string }): JsonObject;
  /** A complete nested resource; undefined when the schema is not one. */
  resource(schema: TSchema): JsonObject | undefined;
  /** The response to a create: includes values that are shown only once, and nothing is nested yet. */
  readonly isCreate: boolean;
}

interface Keywords {
  readonly type?: unknown;
  readonly const?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly format?: string;
  readonly minimum?: number;
  readonly examples?: readonly JsonValue[];
  readonly required?: readonly string[];
}

/** The fields of a read form, from the example body, the stored form's defaults, and sample values. */
export function sampleFields(read: TObject, sent: JsonObject, stored: TObject | null, world: SampleWorld): JsonObject {
  const required = (read as Keywords).required ?? [];
  const result: Record<string, JsonValue> = {};
  for (const [name, field] of Object.entries(read.properties)) {
    const storedName = storedNameOf(name, stored);
    const storedField = stored?.properties[storedName];
    const value = sent[storedName] ?? (storedField === undefined ? undefined : defaultValue(storedField));
    if (value === undefined && !required.includes(name) && !hasSample(field)) continue;
    result[name] = sampleField(field, value, storedField, world);
  }
  return result;
}

function sampleField(
  field: TSchema,
  value: JsonValue | undefined,
  stored: TSchema | undefined,
  world: SampleWorld,
): JsonValue {
  if (isNullable(field)) {
    const inner = innerOf(field);
    const isUnset = value === null || value === '' || (value === undefined && !hasSample(field) && !hasSample(inner));
    return isUnset ? null : sampleField({ ...inner, ...annotationsOf(field) }, value, stored, world);
  }
  if (isRef(field)) return world.refTo(refTarget(field, value));
  const items = (field as Keywords).items;
  if (items !== undefined) return sampleList(field, items, value, world);
  if (isObjectSchema(field) && Object.keys(field.properties).length > 0) {
    const sent = isJsonObject(value) ? value : {};
    return sampleFields(field, sent, stored !== undefined && isObjectSchema(stored) ? stored : null, world);
  }
  return shownSecret(field, value, world) ?? value ?? sampleScalar(field);
}

function sampleList(field: TSchema, items: TSchema, value: JsonValue | undefined, world: SampleWorld): JsonValue {
  if (Array.isArray(value)) {
    return (value as readonly JsonValue[]).map((item) =>
      isRef(items) ? world.refTo(refTarget(items, item)) : withoutHashed(field, item),
    );
  }
  const examples = (field as Keywords).examples?.[0];
  if (examples !== undefined) return examples;
  const nested = world.resource(items);
  if (nested !== undefined) return world.isCreate ? [] : [nested];
  return [sampleField({ ...items, ...annotationsOf(field) }, undefined, undefined, world)];
}

/** A secret of which only a hash is stored reads as empty. */
function withoutHashed(list: TSchema, item: JsonValue): JsonValue {
  const items = itemsWithSecrets(list);
  if (items === null || !isJsonObject(item)) return item;
  const isHashed = (name: string): boolean => secretVisibility(items.properties[name] ?? {}) === 'hashed';
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, isHashed(name) ? '' : value]));
}

function sampleScalar(field: TSchema): JsonValue {
  const { examples, const: constant, enum: values, type, format, minimum } = field as Keywords;
  const known = examples?.[0] ?? constant ?? values?.[0];
  if (known !== undefined) return known;
  if (format === 'date-time') return SAMPLE_TIME;
  if (type === 'integer' || type === 'number') return minimum ?? 1;
  if (type === 'boolean') return false;
  if (type === 'null') return null;
  return type === 'object' ? {} : '';
}

/** Masked secrets are generated when none was sent; only the create shows them. */
function shownSecret(field: TSchema, value: JsonValue | undefined, world: SampleWorld): JsonValue | undefined {
  const made = (field as Keywords).examples?.[0];
  if (secretVisibility(field) !== 'masked' || made === undefined) return undefined;
  return world.isCreate ? value || made : SECRET_MASK;
}

function storedNameOf(name: string, stored: TObject | null): string {
  const fields = Object.entries(stored?.properties ?? {});
  return fields.find(([, field]) => referenceAnnotation(field)?.readAs === name)?.[0] ?? name;
}

function defaultValue(stored: TSchema): JsonValue | undefined {
  return hasDefault(stored) ? (defaultOf(stored) as JsonValue) : undefined;
}

function hasSample(field: TSchema): boolean {
  const { examples, format } = field as Keywords;
  return examples !== undefined || format === 'date-time' || referenceAnnotation(field) !== undefined;
}

function annotationsOf(field: TSchema): object {
  const { examples } = field as Keywords;
  const reference = referenceAnnotation(field);
  return { ...(examples !== undefined && { examples }), ...(reference !== undefined && { 'x-reference': reference }) };
}

function isNullable(field: TSchema): boolean {
  return (field as Keywords).anyOf?.some((part) => (part as Keywords).type === 'null') ?? false;
}

function innerOf(field: TSchema): TSchema {
  return (field as Keywords).anyOf?.find((part) => (part as Keywords).type !== 'null') as TSchema;
}

function isRef(field: TSchema): boolean {
  return isObjectSchema(field) && Object.keys(field.properties).join() === Object.keys(refSchema.properties).join();
}

function refTarget(field: TSchema, value: JsonValue | undefined): { id: string } | { kind: string } {
  if (typeof value === 'string') return { id: value };
  const kind = referenceAnnotation(field)?.kinds[0];
  if (kind === undefined) throw new Error('a Ref that is not configuration needs x-reference to say what it refers to');
  return { kind };
}
