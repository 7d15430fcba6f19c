import type { TObject } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue, valueAt, withValue } from '../../kit/json.ts';
import { secretSentTo } from '../../kit/schema/annotations.ts';
import { type FieldProblem, pointerTo } from '../../kit/schema/field-problem.ts';
import {
  isObjectSchema,
  itemsWithSecrets,
  SECRET_MASK,
  type SecretVisibility,
  secretVisibility,
} from '../../kit/schema/schema-facts.ts';
import type { Secrets } from '../../store/store.ts';
import { invalidBody } from './errors.ts';

/** Secret fields are removed from the document before it is stored: the store seals them beside it, by JSON pointer. */
export interface SecretField {
  readonly pointer: string;
  /** `*` stands for every item of a list. */
  readonly path: readonly string[];
  readonly visibility: SecretVisibility;
  /** Path of the field that holds the secret's destination, if any. */
  readonly destination: readonly string[] | null;
  /** Whether it goes to the upstreams of its route, which other documents decide: see `refuseMovedSecrets`. */
  readonly isForUpstream: boolean;
}

export function secretFieldsOf(schema: TObject, at: readonly string[] = []): readonly SecretField[] {
  return Object.entries(schema.properties).flatMap(([name, field]): readonly SecretField[] => {
    const path = [...at, name];
    const visibility = secretVisibility(field);
    const sentTo = secretSentTo(field);
    const destination = typeof sentTo === 'object' ? [...at, sentTo.field] : null;
    const isForUpstream = sentTo === 'upstream';
    if (visibility !== undefined)
      return [{ pointer: path.reduce(pointerTo, ''), path, visibility, destination, isForUpstream }];
    const items = itemsWithSecrets(field);
    if (items !== null) return secretFieldsOf(items, [...path, EACH]);
    return isObjectSchema(field) ? secretFieldsOf(field, path) : [];
  });
}

const EACH = '*';

/** The places of a secret in a document: several where it is in the items of a list. */
function placesOf(value: JsonValue | undefined, path: readonly string[]): readonly (readonly string[])[] {
  const at = path.indexOf(EACH);
  if (at === -1) return [path];
  const list = valueAt(value, path.slice(0, at));
  if (!Array.isArray(list)) return [];
  return list.map((_, index) => [...path.slice(0, at), String(index), ...path.slice(at + 1)]);
}

export function splitSecrets(
  config: JsonObject,
  fields: readonly SecretField[],
): { doc: JsonObject; secrets: Secrets | null } {
  let doc = config;
  const secrets: Record<string, string> = {};
  for (const path of fields.flatMap((field) => placesOf(config, field.path))) {
    const value = valueAt(doc, path);
    if (value === undefined) continue;
    doc = withValue(doc, path, undefined);
    secrets[path.reduce(pointerTo, '')] = JSON.stringify(value);
  }
  return { doc, secrets: Object.keys(secrets).length === 0 ? null : secrets };
}

export function joinSecrets(doc: JsonObject, secrets: Secrets | null, fields: readonly SecretField[]): JsonObject {
  if (secrets === null) return doc;
  let config = doc;
  for (const path of fields.flatMap((field) => placesOf(doc, field.path))) {
    const text = secrets[path.reduce(pointerTo, '')];
    if (text !== undefined) config = withValue(config, path, JSON.parse(text) as JsonValue);
  }
  return config;
}

/**
 * Pointers to the secrets that a body has itself. From a caller that cannot read them, an equal one is checked like any
 * other: the answer must not tell whether it guessed the stored one.
 */
export function sentSecretsIn(config: JsonObject, fields: readonly SecretField[]): readonly string[] {
  return fields
    .flatMap((field) => placesOf(config, field.path))
    .filter((path) => {
      const value = valueAt(config, path);
      return value !== undefined && value !== null && value !== SECRET_MASK && !isEmpty(value);
    })
    .map((path) => path.reduce(pointerTo, ''));
}

interface SecretRights {
  readonly canReadSecrets: boolean;
  readonly clearedSecrets?: ReadonlySet<string> | undefined;
}

/**
 * A masked secret that is set never reads as empty: a client that sends an empty value did not copy it from a read, and
 * means it.
 */
export function clearedSecretsIn(body: JsonObject, fields: readonly SecretField[]): ReadonlySet<string> {
  const cleared = fields.filter(({ path, visibility }) => {
    const value = visibility === 'masked' ? valueAt(body, path) : undefined;
    return value !== undefined && isEmpty(value);
  });
  return new Set(cleared.map(({ pointer }) => pointer));
}

/**
 * A secret that the reader could not see comes back as it was shown: as the mask, as `""`, or absent. Then the stored
 * one is kept, so that sending back what was read changes nothing. It is not kept for a new destination: otherwise a
 * key without permission to read a secret could have it sent to a server of its own.
 */
export function keepUnseenSecrets(
  next: JsonObject,
  previous: JsonObject | null,
  fields: readonly SecretField[],
  { canReadSecrets, clearedSecrets }: SecretRights,
): JsonObject {
  if (previous === null) return next;
  let result = next;
  for (const { path, pointer, visibility, destination } of fields) {
    // The module compares what was sent with the hash, and keeps it: see `Module.seal`.
    if (visibility === 'hashed') continue;
    const before = valueAt(previous, path);
    const sent = valueAt(next, path);
    if (before === undefined || !isParentPresent(next, path)) continue;
    if (visibility === 'readable' && (canReadSecrets || (sent !== undefined && sent !== ''))) continue;
    if (visibility === 'masked' && (clearedSecrets?.has(pointer) === true || !isUnseen(sent, before))) continue;
    if (visibility === 'write_only' && sent !== undefined) continue;
    if (destination !== null && !isEmpty(before) && valueAt(next, destination) !== valueAt(previous, destination)) {
      throw invalidBody([
        {
          path: pointer,
          message: `must be sent again, because ${destination.join('.')} changes and the secret would be sent there`,
        },
      ]);
    }
    result = withValue(result, path, visibility === 'masked' ? unmask(sent, before) : before);
  }
  return result;
}

/**
 * The stored configuration for a PATCH, without the secrets that have a destination and that the body does not name:
 * they count as unseen, so that a PATCH of the destination alone does not take them there.
 */
export function withoutUnsentSecrets(stored: JsonObject, sent: JsonObject, fields: readonly SecretField[]): JsonObject {
  return fields
    .filter(({ path: [name = '', ...rest], destination }) => {
      return destination !== null && rest.length === 0 && !Object.hasOwn(sent, name);
    })
    .reduce((rest, { path }) => withValue(rest, path, undefined), stored);
}

/** A mask that is sent back carries no information and is not a valid secret: it counts as absent. */
export function withoutMasks(body: JsonObject, fields: readonly SecretField[]): JsonObject {
  const shown = fields.filter(({ path, visibility }) => visibility === 'masked' && valueAt(body, path) === SECRET_MASK);
  return shown.reduce((rest, { path }) => withValue(rest, path, undefined), body);
}

export function masked(value: JsonValue | undefined): JsonValue {
  if (isJsonObject(value)) return Object.fromEntries(Object.keys(value).map((name) => [name, SECRET_MASK]));
  return value === '' || value === undefined ? '' : SECRET_MASK;
}

/** A mask without a stored secret: kept, it would be used as the secret itself. */
export function maskProblems(config: JsonObject, fields: readonly SecretField[]): readonly FieldProblem[] {
  return fields
    .filter(({ path, visibility }) => {
      if (visibility !== 'masked') return false;
      const value = valueAt(config, path);
      return value === SECRET_MASK || (isJsonObject(value) && Object.values(value).includes(SECRET_MASK));
    })
    .map(({ pointer }) => ({
      path: pointer,
      message: `is "${SECRET_MASK}", which stands for the stored secret, but none is stored: send the secret itself`,
    }));
}

function isEmpty(value: JsonValue): boolean {
  return value === '' || (isJsonObject(value) && Object.keys(value).length === 0);
}

function isUnseen(sent: JsonValue | undefined, before: JsonValue): boolean {
  if (sent === undefined || sent === SECRET_MASK) return true;
  // An absent field has its default here.
  if (isEmpty(sent) && typeof sent === typeof before) return true;
  return isJsonObject(sent) && Object.values(sent).includes(SECRET_MASK);
}

function unmask(sent: JsonValue | undefined, before: JsonValue): JsonValue {
  if (!isJsonObject(sent) || !isJsonObject(before) || isEmpty(sent)) return before;
  const entries = Object.entries(sent).map(([name, value]) => [
    name,
    value === SECRET_MASK && Object.hasOwn(before, name) ? (before[name] as JsonValue) : value,
  ]);
  return Object.fromEntries(entries);
}

function isParentPresent(value: JsonObject, path: readonly string[]): boolean {
  return path.length === 1 || isJsonObject(valueAt(value, path.slice(0, -1)));
}
