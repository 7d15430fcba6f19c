import type { Document } from '../api/use-pages.ts';
import type { JsonSchema } from './json-schema.ts';
import { resolveSchema } from './openapi-document.ts';

/** A document as it is written: only the fields of the body, with ids in place of references. */
export function writeForm(document: Document, body: JsonSchema): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(resolveSchema(body).properties ?? {})) {
    const schema = resolveSchema(field);
    const readAs = field['x-reference']?.readAs ?? name;
    const value = document[readAs] ?? document[name];
    if (value === undefined || value === null) continue;
    result[name] = written(value, schema);
  }
  return result;
}

function written(value: unknown, schema: JsonSchema): unknown {
  if (Array.isArray(value)) return value.map((each) => written(each, schema.items ? resolveSchema(schema.items) : {}));
  if (typeof value !== 'object' || value === null) return value;
  if ('id' in value && 'uri' in value && schema.type !== 'object') return value.id;
  if (schema.properties !== undefined) return writeForm(value as Document, schema);
  return value;
}

/** The fields of a PATCH: those that differ. A removed field goes back to its default. */
export function changedFields(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  body: JsonSchema,
): Record<string, unknown> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changes: Record<string, unknown> = {};
  for (const name of names) {
    if (JSON.stringify(before[name]) === JSON.stringify(after[name])) continue;
    changes[name] = after[name] ?? emptyOf(resolveSchema(resolveSchema(body).properties?.[name] ?? {}));
  }
  return changes;
}

export function emptyOf(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return structuredClone(schema.default);
  if (schema.type === 'string') return '';
  if (schema.type === 'array') return [];
  if (schema.type === 'object') return {};
  if (schema.type === 'boolean') return false;
  if (schema.type === 'integer' || schema.type === 'number') return 0;
  return null;
}
