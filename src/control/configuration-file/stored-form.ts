import type { TObject, TSchema } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { referenceAnnotation } from '../../kit/schema/annotations.ts';
import { pointerTo } from '../../kit/schema/field-problem.ts';
import {
  isObjectSchema,
  itemsWithSecrets,
  openValues,
  SECRET_MASK,
  secretVisibility,
} from '../../kit/schema/schema-facts.ts';
import { defaultOf, hasDefault, isShownOnlyIfSet } from '../../kit/schema/wire-forms.ts';
import type { ObjectKind } from './sections.ts';

/** What a reader knows about a secret: its value, that there is one, or nothing. */
export type ReadSecret =
  | { readonly state: 'known'; readonly value: JsonValue }
  | { readonly state: 'hidden'; readonly shown: JsonValue }
  | { readonly state: 'unset' };

export interface StoredForm {
  /** Every field but secrets, with ids of other objects. */
  readonly config: JsonObject;
  /** By JSON pointer. */
  readonly secrets: ReadonlyMap<string, ReadSecret>;
}

/** The stored form of what the API returned: ids instead of Refs, absent fields with their defaults. */
export function storedForm(schema: TObject, document: JsonObject): StoredForm {
  const secrets = new Map<string, ReadSecret>();
  return { config: objectForm(schema, document, '', secrets), secrets };
}

function objectForm(schema: TObject, document: JsonObject, at: string, secrets: Map<string, ReadSecret>): JsonObject {
  const entries: [string, JsonValue][] = Object.entries(openValues(schema, document));
  for (const [name, field] of Object.entries(schema.properties)) {
    const pointer = pointerTo(at, name);
    const readName = referenceAnnotation(field)?.readAs;
    const read = document[name] ?? (readName === undefined ? undefined : document[readName]);
    const visibility = secretVisibility(field);
    if (visibility !== undefined) {
      const isNeverShown = visibility === 'write_only' || visibility === 'hashed';
      secrets.set(pointer, isNeverShown ? { state: 'hidden', shown: null } : readSecret(read));
      continue;
    }
    if (read === undefined && isShownOnlyIfSet(field)) continue;
    const value = read === undefined || read === null ? defaultValue(field) : idsOf(field, read);
    const items = itemsWithSecrets(field);
    if (items !== null && Array.isArray(value)) {
      const forms = value.map((item, at) =>
        isJsonObject(item) ? itemForm(items, item, pointerTo(pointer, String(at)), secrets) : item,
      );
      entries.push([name, forms]);
      continue;
    }
    entries.push([
      name,
      isObjectSchema(field) && isJsonObject(value) ? objectForm(field, value, pointer, secrets) : value,
    ]);
  }
  return Object.fromEntries(entries);
}

/** An item has no field that was not sent. */
function itemForm(schema: TObject, item: JsonObject, at: string, secrets: Map<string, ReadSecret>): JsonObject {
  const form = objectForm(schema, item, at, secrets);
  return Object.fromEntries(Object.entries(form).filter(([name]) => item[name] !== undefined));
}

function defaultValue(field: TSchema): JsonValue {
  return hasDefault(field) ? ((defaultOf(field) ?? null) as JsonValue) : null;
}

function readSecret(read: JsonValue | undefined): ReadSecret {
  if (read === undefined || read === null || read === '') return { state: 'unset' };
  if (isJsonObject(read)) {
    const values = Object.values(read);
    if (values.length === 0) return { state: 'unset' };
    return values.includes(SECRET_MASK) ? { state: 'hidden', shown: read } : { state: 'known', value: read };
  }
  return read === SECRET_MASK ? { state: 'hidden', shown: read } : { state: 'known', value: read };
}

function idsOf(field: TSchema, value: JsonValue): JsonValue {
  if (referenceAnnotation(field) === undefined) return value;
  return Array.isArray(value) ? value.map(idOf) : idOf(value);
}

/** A Ref or an id; a map has ids as its keys. */
function idOf(value: JsonValue): JsonValue {
  return isJsonObject(value) && typeof value['id'] === 'string' ? value['id'] : value;
}

/** What the server wrote into a configuration by itself and the file does not repeat, by kind. */
const WRITTEN_BY_SERVER: ReadonlyMap<string, (config: JsonObject) => readonly string[]> = new Map([
  // The text of a certificate with files is what was read last.
  [
    'tls_certificate',
    (config) => ((config['certificate_file'] ?? '') === '' ? [] : ['certificate_pem', 'private_key_pem']),
  ],
]);

/** A stored form as the file shows it: normalized, without what the server computes. */
export function comparableForm({ resource }: ObjectKind, { config, secrets }: StoredForm): StoredForm {
  const left = new Set(WRITTEN_BY_SERVER.get(resource.kind)?.(config) ?? []);
  const parentField = resource.parent !== undefined && 'field' in resource.parent ? resource.parent.field : null;
  if (parentField !== null) left.add(parentField);
  const normalized = (resource.normalize?.(config as never) ?? config) as JsonObject;
  return {
    config: Object.fromEntries(Object.entries(normalized).filter(([name]) => !left.has(name))),
    secrets: new Map([...secrets].filter(([pointer]): boolean => !left.has(pointer.slice(1)))) as ReadonlyMap<
      string,
      ReadSecret
    >,
  };
}
