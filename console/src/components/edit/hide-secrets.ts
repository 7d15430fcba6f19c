import type { JsonSchema } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';

/** For the difference: whether a secret changes is shown, its value is not. */
export function hideSecrets(value: unknown, schema: JsonSchema, original?: unknown): unknown {
  const { properties, items } = resolveSchema(schema);
  if (Array.isArray(value)) {
    return value.map((each, at) => hideSecrets(each, items ?? {}, Array.isArray(original) ? original[at] : undefined));
  }
  if (typeof value !== 'object' || value === null || properties === undefined) return value;
  const before = (original ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const field = properties[name] ?? {};
      if (field['x-secret'] === undefined) return [name, hideSecrets(each, field, before[name])];
      if (each === '' || each === undefined) return [name, ''];
      const isNew = original !== undefined && JSON.stringify(before[name]) !== JSON.stringify(each);
      return [name, isNew ? '(a new secret)' : '(secret)'];
    }),
  );
}
