import type { TObjectOptions, TRecord, TSchema, TString } from 'typebox';
import Type from 'typebox';
import { REFERENCE_KEYWORD, type ReferenceAnnotation, SECRET_KEYWORD, type SecretVisibility } from './schema-facts.ts';

export { type ReferenceAnnotation, referenceAnnotation } from './schema-facts.ts';

/**
 * Annotations of a field's schema beside its type. They drive, without code per resource: references (which block a
 * deletion and read back as a Ref), secrets (sealed at rest, masked or omitted on reading) and the wire forms.
 */
const SENT_TO_KEYWORD = 'x-sent-to';

/**
 * Where a secret goes. A field: the sibling that holds its destination. `upstream`: wherever the requests of its route
 * go. `nowhere`: it does not leave this server, or visitors get it. A destination must not change under a secret
 * (decision 4).
 */
export type SecretDestination = { readonly field: string } | 'upstream' | 'nowhere';

export function secret<Schema extends TSchema>(
  visibility: SecretVisibility,
  schema: Schema,
  sentTo: SecretDestination,
): Schema {
  const name = typeof sentTo === 'object' ? sentTo.field : sentTo === 'upstream' ? UPSTREAM : null;
  return { ...schema, [SECRET_KEYWORD]: visibility, ...(name !== null && { [SENT_TO_KEYWORD]: name }) };
}

/** No field has this name. */
const UPSTREAM = '(upstream)';

export function secretSentTo(schema: TSchema): SecretDestination {
  const name = (schema as Record<string, unknown>)[SENT_TO_KEYWORD] as string | undefined;
  if (name === undefined) return 'nowhere';
  return name === UPSTREAM ? 'upstream' : { field: name };
}

export function reference<Schema extends TSchema>(annotation: ReferenceAnnotation, schema: Schema): Schema {
  return { ...schema, [REFERENCE_KEYWORD]: annotation };
}

export const refSchema = Type.Object(
  {
    id: Type.String({ description: 'A resource identifier.' }),
    uri: Type.String({ description: 'A URI for locating the resource.' }),
  },
  { description: 'A reference to another resource.', additionalProperties: false },
);

export interface Ref {
  readonly id: string;
  readonly uri: string;
}

export function idString(description: string): TString {
  return Type.String({ description, minLength: 1, maxLength: 64 });
}

/** TypeBox's own pattern is `^.*$`, which leaves names with a line separator, and their values, unchecked. */
export const ANY_NAME = '^[\\s\\S]*$';

/** A map from any text to `value`. */
export function mapOf<Value extends TSchema>(value: Value, options: TObjectOptions): TRecord<string, Value> {
  return Type.Record(Type.String({ pattern: ANY_NAME }), value, options);
}
