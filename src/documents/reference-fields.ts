import type { TObject, TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { type ReferenceAnnotation, referenceAnnotation } from '../lib/schema/annotations.ts';
import { fieldName, pointerTo } from '../lib/schema/field-problem.ts';
import type { Reference } from '../store/store.ts';
import { documentErrors } from './errors.ts';

export interface ReferenceField extends ReferenceAnnotation {
  readonly name: string;
}

export function referenceFieldsOf(config: TObject): readonly ReferenceField[] {
  return Object.entries(config.properties).flatMap(([name, field]) => {
    const annotation = referenceAnnotation(field as TSchema);
    return annotation === undefined ? [] : [{ ...annotation, name }];
  });
}

/** Returns the kind of an id by its prefix; null when it is not one of our ids. */
export type KindOfId = (id: string) => string | null;

/** A reference and its position in the body: a module may be the whole body or be inline. */
export interface PlacedReference extends Reference {
  readonly path: string;
}

/**
 * The references of a configuration located at `at` in the body. An id of a kind that the field does not accept is
 * rejected by name.
 */
export function referencesIn(
  config: JsonObject,
  fields: readonly ReferenceField[],
  kindOfId: KindOfId,
  at: string,
): readonly PlacedReference[] {
  return fields.flatMap((field) => {
    const path = pointerTo(at, field.name);
    return idsIn(config[field.name], field).map((id): PlacedReference => {
      const kind = kindOfId(id);
      if (kind === null || !field.kinds.includes(kind)) throw unknownReference(path, id, field.kinds);
      return { field: field.name, to: { kind, id }, path };
    });
  });
}

export function unknownReference(path: string, id: string, kinds: readonly string[]): Error {
  const wanted = kinds.map((kind) => kind.replaceAll('_', ' ')).join(', ');
  return documentErrors.create(
    'ERR_POSTERN_UNKNOWN_REFERENCE',
    `${fieldName(path)} names "${id.slice(0, 64)}", but there is no ${wanted} with that id: create it first, or send an existing id`,
    { details: { field: path, id: id.slice(0, 64) } },
  );
}

function idsIn(value: JsonValue | undefined, field: ReferenceField): readonly string[] {
  if (value === undefined || value === null || value === '') return [];
  if (field.inKeys === true) return Object.keys(value as JsonObject);
  return Array.isArray(value) ? (value as string[]) : [value as string];
}
