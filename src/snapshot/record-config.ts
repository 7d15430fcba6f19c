import { hash } from 'node:crypto';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { StoredRecord } from '../store/store.ts';

/** An edge is compiled again for a change of any of its routes, and most of its records are still the same ones. */
const configs = new WeakMap<StoredRecord, JsonObject>();
const digests = new WeakMap<StoredRecord, string>();

/** The document of a record with its secrets. Records are never changed in place. */
export function configOf(record: StoredRecord): JsonObject {
  if (record.secrets === null) return record.doc;
  let config = configs.get(record);
  if (config === undefined) {
    config = withSecrets(record);
    configs.set(record, config);
  }
  return config;
}

/** Equal for records whose configuration is equal. */
export function configDigest(record: StoredRecord): string {
  let digest = digests.get(record);
  if (digest === undefined) {
    digest = hash('sha256', canonicalJson(configOf(record)), 'base64url');
    digests.set(record, digest);
  }
  return digest;
}

/** Secrets are stored by JSON pointer, whose names need no escapes. */
function withSecrets(record: StoredRecord): JsonObject {
  return Object.entries(record.secrets ?? {}).reduce(
    (doc, [pointer, text]) => withValue(doc, pointer.slice(1).split('/'), JSON.parse(text) as JsonValue),
    record.doc,
  );
}

function withValue(doc: JsonObject, [name = '', ...rest]: readonly string[], value: JsonValue): JsonObject {
  const inner = doc[name];
  if (Array.isArray(inner)) {
    const [index, ...inItem] = rest;
    const items = inner.map((item: JsonValue, at) =>
      at === Number(index) && isJsonObject(item) ? withValue(item, inItem, value) : item,
    );
    return { ...doc, [name]: items };
  }
  return { ...doc, [name]: rest.length === 0 ? value : withValue(isJsonObject(inner) ? inner : {}, rest, value) };
}
