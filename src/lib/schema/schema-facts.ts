import type { TObject, TSchema } from 'typebox';

/** Reads a schema as plain data. Nothing here loads the schema library, which takes longer than a whole command. */

export const SECRET_KEYWORD = 'x-secret';

/**
 * `readable`: returned to those who may read secrets, `""` to others.
 * `masked`: returned once by the create that made it, afterwards as a mask.
 * `write_only`: never returned.
 */
export type SecretVisibility = 'readable' | 'masked' | 'write_only';

/** What a `masked` secret reads back as. Sent back, it stands for what is stored. */
export const SECRET_MASK = '********';

export function isObjectSchema(schema: TSchema): schema is TObject {
  const candidate = schema as { type?: unknown; properties?: unknown };
  return candidate.type === 'object' && typeof candidate.properties === 'object';
}

export function secretVisibility(schema: TSchema): SecretVisibility | undefined {
  return (schema as Record<string, unknown>)[SECRET_KEYWORD] as SecretVisibility | undefined;
}
