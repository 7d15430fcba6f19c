import { isDeepStrictEqual } from 'node:util';
import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { type ReferenceAnnotation, referenceAnnotation } from '../../kit/schema/annotations.ts';
import { pointerTo } from '../../kit/schema/field-problem.ts';
import { isObjectSchema, openValues, secretVisibility } from '../../kit/schema/schema-facts.ts';
import { defaultOf, hasDefault, isShownOnlyIfSet } from '../../kit/schema/wire-forms.ts';
import type { ReadSecret } from './stored-form.ts';

export interface FormPorts {
  /** The name of an object by its id; null when the file does not have it. */
  nameOf(id: string): string | null;
  /** What is written for a secret; undefined: nothing. */
  secretText(pointer: string, secret: ReadSecret): JsonValue | undefined;
  omit(path: readonly string[], why: string): void;
}

/** The name of a field in the file: references have the name under which they are read. */
export function fileFieldName(name: string, field: TSchema): string {
  return referenceAnnotation(field)?.readAs ?? name;
}

/** A configuration as the file shows it: names instead of ids, and no field that has its default. */
export function fileForm(
  schema: TObject,
  config: JsonObject,
  secrets: ReadonlyMap<string, ReadSecret>,
  ports: FormPorts,
): JsonObject {
  return new FileForm(secrets, ports).object(schema, config, '', []);
}

class FileForm {
  readonly #secrets: ReadonlyMap<string, ReadSecret>;
  readonly #ports: FormPorts;

  constructor(secrets: ReadonlyMap<string, ReadSecret>, ports: FormPorts) {
    this.#secrets = secrets;
    this.#ports = ports;
  }

  object(schema: TObject, config: JsonObject, at: string, path: readonly string[]): JsonObject {
    const entries: [string, JsonValue][] = Object.entries(openValues(schema, config));
    for (const [name, field] of Object.entries(schema.properties)) {
      const pointer = pointerTo(at, name);
      const shownName = fileFieldName(name, field);
      const value = this.#field(field, config[name], pointer, [...path, shownName]);
      if (value !== undefined) entries.push([shownName, value]);
    }
    return Object.fromEntries(entries);
  }

  #field(
    field: TSchema,
    value: JsonValue | undefined,
    pointer: string,
    path: readonly string[],
  ): JsonValue | undefined {
    if (secretVisibility(field) !== undefined) {
      const secret = this.#secrets.get(pointer);
      return secret === undefined ? undefined : this.#ports.secretText(pointer, secret);
    }
    const annotation = referenceAnnotation(field);
    if (value === undefined) return undefined;
    if (hasDefault(field) && !isObjectSchema(field) && isDeepStrictEqual(value, defaultOf(field))) return undefined;
    if (annotation !== undefined) return this.#names(annotation, value, path);
    if (isObjectSchema(field) && isJsonObject(value)) {
      const inner = this.object(field, value, pointer, path);
      const isImplied = hasDefault(field) && !isShownOnlyIfSet(field) && defaultOf(field) !== null;
      return isImplied && Object.keys(inner).length === 0 ? undefined : inner;
    }
    if (isObjectSchema(field) && value === null && defaultOf(field) === null) return undefined;
    const { items } = field as { readonly items?: TSchema };
    if (items !== undefined && isObjectSchema(items) && Array.isArray(value)) {
      return value.map((item, index) =>
        this.#item(items, item as JsonValue, pointerTo(pointer, String(index)), [...path, String(index)]),
      );
    }
    return value;
  }

  /** Objects in lists have no defaults. */
  #item(schema: TObject, item: JsonValue, at: string, path: readonly string[]): JsonValue {
    if (!isJsonObject(item)) return item;
    const secrets = Object.entries(schema.properties).flatMap(([name, field]): [string, JsonValue][] => {
      const secret = secretVisibility(field) === undefined ? undefined : this.#secrets.get(pointerTo(at, name));
      const text = secret === undefined ? undefined : this.#ports.secretText(pointerTo(at, name), secret);
      return text === undefined ? [] : [[name, text]];
    });
    const entries = Object.entries(item).flatMap(([name, value]): [string, JsonValue][] => {
      const field = Object.hasOwn(schema.properties, name) ? (schema.properties[name] as TSchema) : undefined;
      const annotation = field === undefined ? undefined : referenceAnnotation(field);
      if (field === undefined || annotation === undefined) return [[name, value]];
      const named = this.#names(annotation, value, [...path, name]);
      return named === undefined ? [] : [[fileFieldName(name, field), named]];
    });
    return Object.fromEntries([...entries, ...secrets]);
  }

  #names(annotation: ReferenceAnnotation, value: JsonValue, path: readonly string[]): JsonValue | undefined {
    if (annotation.inKeys === true && isJsonObject(value)) {
      return Object.fromEntries(
        Object.entries(value).flatMap(([id, weight]) => {
          const name = this.#name(id, path);
          return name === undefined ? [] : [[name, weight] as const];
        }),
      );
    }
    if (Array.isArray(value)) return value.flatMap((id) => this.#name(String(id), path) ?? []);
    return typeof value !== 'string' || value === '' ? undefined : this.#name(value, path);
  }

  #name(id: string, path: readonly string[]): string | undefined {
    const name = this.#ports.nameOf(id);
    if (name !== null) return name;
    this.#ports.omit(path, `refers to ${id}, which is not in the file`);
    return undefined;
  }
}
