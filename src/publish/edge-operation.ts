import type { JsonObject } from '../lib/json.ts';

/** One write of a changeset. */
export interface EdgeOperation {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject;
}
