import type { TObject, TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { type ReferenceAnnotation, referenceAnnotation } from '../lib/schema/annotations.ts';
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

/** Knows which kind an id belongs to, by its prefix; null when it is no id of ours. */
export type KindOfId = (id: string) => string | null;

/** The references that a configuration holds. An id of a kind that the field does not take is refused by name. */
export function referencesIn(config: JsonObject, fields: readonly ReferenceField[], kindOfId: KindOfId): Reference[] {
  return fields.flatMap((field) =>
    idsIn(config[field.name], field).map((id): Reference => {
      const kind = kindOfId(id);
      if (kind === null || !field.kinds.includes(kind)) throw unknownReference(field.name, id, field.kinds);
      return { field: field.name, to: { kind, id } };
    }),
  );
}

export function unknownReference(field: string, id: string, kinds: readonly string[]): Error {
  const wanted = kinds.map((kind) => kind.replaceAll('_', ' ')).join(', ');
  return documentErrors.create(
    'ERR_POSTERN_UNKNOWN_REFERENCE',
    `${field} names "${id.slice(0, 64)}", and there is no ${wanted} with that id: create it first, or send the id of one that exists`,
    { details: { field: `/${field}`, id: id.slice(0, 64) } },
  );
}

function idsIn(value: JsonValue | undefined, field: ReferenceField): readonly string[] {
  if (value === undefined || value === null || value === '') return [];
  if (field.inKeys === true) return Object.keys(value as JsonObject);
  return Array.isArray(value) ? (value as string[]) : [value as string];
}
