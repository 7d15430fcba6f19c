import type { TObject, TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../../kit/json.ts';
import { type ReferenceAnnotation, referenceAnnotation } from '../../kit/schema/annotations.ts';
import { fieldName, pointerTo } from '../../kit/schema/field-problem.ts';
import { isObjectSchema } from '../../kit/schema/schema-facts.ts';
import type { Reference } from '../../store/store.ts';
import { documentErrors } from './errors.ts';

export interface ReferenceField extends ReferenceAnnotation {
  readonly name: string;
  /** Names of the lists of objects around it, outermost first. */
  readonly lists: readonly string[];
}

/** Fields of the configuration itself, and of the objects in its lists, such as the rules of a module. */
export function referenceFieldsOf(config: TObject, lists: readonly string[] = []): readonly ReferenceField[] {
  return Object.entries(config.properties).flatMap(([name, field]): readonly ReferenceField[] => {
    const annotation = referenceAnnotation(field as TSchema);
    if (annotation !== undefined) return [{ ...annotation, name, lists }];
    const { items } = field as { readonly items?: TSchema };
    return items !== undefined && isObjectSchema(items) ? referenceFieldsOf(items, [...lists, name]) : [];
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
  return fields.flatMap((field) =>
    holdersOf(config, field.lists, { label: '', path: at }).flatMap(({ holder, label, path: around }) => {
      const path = pointerTo(around, field.name);
      return idsIn(holder[field.name], field).map((id): PlacedReference => {
        const kind = kindOfId(id);
        if (kind === null || !field.kinds.includes(kind)) throw unknownReference(path, id, field.kinds);
        return { field: `${label}${field.name}`, to: { kind, id }, path };
      });
    }),
  );
}

interface Place {
  /** For messages, such as `allow[2].`. */
  readonly label: string;
  readonly path: string;
}

/** The objects that contain the field: the configuration itself, or every object of a list in it. */
function holdersOf(
  config: JsonObject,
  lists: readonly string[],
  place: Place,
): readonly (Place & { readonly holder: JsonObject })[] {
  const [list, ...inner] = lists;
  if (list === undefined) return [{ holder: config, ...place }];
  const objects = (config[list] ?? []) as readonly JsonObject[];
  return objects.flatMap((object, index) =>
    holdersOf(object, inner, {
      label: `${place.label}${list}[${index}].`,
      path: pointerTo(pointerTo(place.path, list), String(index)),
    }),
  );
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
