import type { TObject } from 'typebox';
import type { JsonObject } from '../kit/json.ts';
import { withDefaults } from '../kit/schema/with-defaults.ts';
import { type Backend, recordKindOf } from './backend.ts';
import { backends } from './registry.ts';

/** Record kinds of a field that accepts any backend. */
export const backendRecordKinds: readonly string[] = backends.map(recordKindOf);

const byRecordKind = new Map<string, Backend>(backends.map((backend) => [recordKindOf(backend), backend]));

export function backendOfRecordKind(kind: string): Backend | undefined {
  return byRecordKind.get(kind);
}

const schemas = new Map<string, TObject>();

/** The configuration of a stored backend: fields that it was stored without have their defaults. */
export function backendConfig(kind: string, doc: JsonObject): JsonObject {
  let schema = schemas.get(kind);
  if (schema === undefined) {
    schema = byRecordKind.get(kind)?.config(backendRecordKinds);
    if (schema === undefined) return doc;
    schemas.set(kind, schema);
  }
  return withDefaults(schema, doc);
}
