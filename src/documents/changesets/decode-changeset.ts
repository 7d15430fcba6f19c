import type { JsonObject } from '../../lib/json.ts';
import { confirmWithinMs } from '../confirmation/confirm-within.ts';
import type { Changeset } from './changesets.ts';

/** The body of a request, which was checked by its schema, by the names of this program. */
export function changesetOf(body: JsonObject): Changeset {
  const { operations, expected_revision: expectedRevision = null, dry_run: isDryRun = false, message = '' } = body;
  const { confirm_within: confirmWithin } = body;
  const given = operations as unknown as readonly { method: string; path: string; body?: JsonObject | null }[];
  return {
    operations: given.map((operation) => ({ ...operation, body: operation.body ?? {} })),
    expectedRevision: expectedRevision as number | null,
    isDryRun: isDryRun as boolean,
    message: message as string,
    confirmWithinMs: confirmWithin === undefined ? null : confirmWithinMs(confirmWithin as string),
  };
}
