import type { JsonObject } from '../../lib/json.ts';
import { confirmWithinMs } from '../confirmation/confirm-within.ts';
import type { Changeset } from './changesets.ts';
import type { Ownership } from './ownership.ts';

/** The body of a request, which was checked by its schema, by the names of this program. */
export function changesetOf(body: JsonObject): Changeset {
  const {
    operations,
    expected_revision: expectedRevision = null,
    dry_run: isDryRun = false,
    message = '',
    owner,
  } = body;
  const { confirm_within: confirmWithin } = body;
  const given = operations as unknown as readonly { method: string; path: string; body?: JsonObject | null }[];
  return {
    operations: given.map((operation) => ({ ...operation, body: operation.body ?? {} })),
    expectedRevision: expectedRevision as number | null,
    isDryRun: isDryRun as boolean,
    message: message as string,
    confirmWithinMs: confirmWithin === undefined ? null : confirmWithinMs(confirmWithin as string),
    ownership: owner === undefined || owner === null ? null : ownershipOf(owner as JsonObject),
  };
}

function ownershipOf({ name, claims, take_over: isTakeOver = false }: JsonObject): Ownership {
  return { name: name as string, claims: claims as unknown as Ownership['claims'], isTakeOver: isTakeOver === true };
}
