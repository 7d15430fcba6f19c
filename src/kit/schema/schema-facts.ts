import type { TObject, TSchema } from 'typebox';
import type { JsonObject } from '../json.ts';

/**
 * Reads a schema as plain data. This file does not load the schema library, which takes longer than a whole command.
 */

export const SECRET_KEYWORD = 'x-secret';

/**
 * `readable`: returned to callers that may read secrets, `""` to others. `masked`: returned once by the create that
 * generated it, afterwards as a mask. `write_only`: never returned. `hashed`: only a hash is stored; reads as `""`,
 * which keeps it when sent back.
 */
export type SecretVisibility = 'readable' | 'masked' | 'write_only' | 'hashed';

/** Reads back in place of a `masked` secret. When sent back, it keeps the stored value. */
export const SECRET_MASK = '********';

export function isObjectSchema(schema: TSchema): schema is TObject {
  const candidate = schema as { type?: unknown; properties?: unknown };
  return candidate.type === 'object' && typeof candidate.properties === 'object';
}

/** Whether the object also takes names that its schema does not have. */
export function isOpenSchema(schema: TObject): boolean {
  return typeof (schema as { readonly additionalProperties?: unknown }).additionalProperties === 'object';
}

/** The values under names that an open schema does not have; none in other objects. */
export function openValues(schema: TObject, value: JsonObject): JsonObject {
  if (!isOpenSchema(schema)) return NONE;
  return Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(schema.properties, name)));
}

const NONE: JsonObject = {};

/** The items of a list of objects that have secrets; null for every other field. */
export function itemsWithSecrets(schema: TSchema): TObject | null {
  const { items } = schema as { readonly items?: TSchema };
  if (items === undefined || !isObjectSchema(items)) return null;
  return Object.values(items.properties).some((field) => secretVisibility(field) !== undefined) ? items : null;
}

export function secretVisibility(schema: TSchema): SecretVisibility | undefined {
  return (schema as Record<string, unknown>)[SECRET_KEYWORD] as SecretVisibility | undefined;
}

export const REFERENCE_KEYWORD = 'x-reference';

export interface ReferenceAnnotation {
  /** Kinds of records that the id may refer to. */
  readonly kinds: readonly string[];
  /** Name of the field in responses, where it is a Ref (or a list of Refs); absent: ids read back as ids. */
  readonly readAs?: string;
  /** The ids are the keys of a map. */
  readonly inKeys?: true;
}

/** In a file without imports: commands that only read schemas start faster without the schema library. */
export function referenceAnnotation(schema: TSchema): ReferenceAnnotation | undefined {
  return (schema as Record<string, unknown>)[REFERENCE_KEYWORD] as ReferenceAnnotation | undefined;
}
