import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject, type JsonValue, pathOf, withValue } from '../lib/json.ts';
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

function withSecrets(record: StoredRecord): JsonObject {
  return Object.entries(record.secrets ?? {}).reduce(
    (doc, [pointer, text]) => withValue(doc, pathOf(pointer), JSON.parse(text) as JsonValue),
    record.doc,
  );
}
