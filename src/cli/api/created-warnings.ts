import type { JsonObject } from '../../lib/json.ts';
import { cellText } from './cell-text.ts';
import type { OperationDescription } from './operation-list.ts';

/** Warnings about a resource that was created as requested but has no effect yet. */
export function createdWarnings({ resource, verb }: OperationDescription, body: JsonObject | null): readonly string[] {
  if (resource !== 'https_edges' || verb !== 'create' || body === null) return [];
  const { id, hostports } = body;
  return Array.isArray(hostports) && hostports.length === 0
    ? [
        `the edge has no hosts. Add one: postern api https-edges update --id ${cellText(id)} --hostports app.example.com:443`,
      ]
    : [];
}
