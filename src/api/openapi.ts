import type { JsonObject } from '../lib/json.ts';
import type { Operation } from '../resources/operation.ts';

export function openApiDocument(
  _operations: readonly Operation[],
  _options: { version: string; serverUrl: string },
): JsonObject {
  return {};
}
