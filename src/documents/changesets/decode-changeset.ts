import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { pointerTo } from '../../lib/schema/field-problem.ts';
import { MAX_OPERATIONS } from '../../resources/changesets/changesets.ts';
import { invalidBody } from '../errors.ts';
import type { Changeset, ChangesetOperation } from './changesets.ts';

const METHODS: ReadonlySet<JsonValue | undefined> = new Set(['POST', 'PATCH', 'PUT', 'DELETE']);
const MAX_PATH_LENGTH = 2_048;
const FIELDS: ReadonlySet<string> = new Set(['operations', 'expected_revision', 'dry_run']);
const OPERATION_FIELDS: ReadonlySet<string> = new Set(['method', 'path', 'body']);

/** By hand: 50,000 bodies whose schemas differ are decoded one after the other, when their operations run. */
export function decodeChangeset(body: JsonObject): Changeset {
  refuseUnknown(body, FIELDS, '');
  const { operations, expected_revision: expectedRevision = null, dry_run: isDryRun = false } = body;
  if (!Array.isArray(operations)) throw invalid('/operations', 'must be a list of writes');
  if (operations.length > MAX_OPERATIONS) {
    throw invalid('/operations', `has ${operations.length} operations, but at most ${MAX_OPERATIONS} are allowed`);
  }
  if (expectedRevision !== null && !isRevision(expectedRevision)) {
    throw invalid('/expected_revision', 'must be a revision, as in the header Postern-Revision');
  }
  if (typeof isDryRun !== 'boolean') throw invalid('/dry_run', 'must be true or false');
  return { operations: operations.map(decodeOperation), expectedRevision, isDryRun };
}

function decodeOperation(value: JsonValue, index: number): ChangesetOperation {
  const at = `/operations/${index}`;
  if (!isJsonObject(value)) throw invalid(at, 'must be an object with method, path and body');
  refuseUnknown(value, OPERATION_FIELDS, at);
  const { method, path, body } = value;
  if (!METHODS.has(method)) throw invalid(`${at}/method`, 'must be POST, PATCH, PUT or DELETE');
  if (typeof path !== 'string' || !path.startsWith('/') || path.length > MAX_PATH_LENGTH) {
    throw invalid(`${at}/path`, 'must be a path of the API, such as "/edges/https"');
  }
  if (body !== undefined && body !== null && !isJsonObject(body)) throw invalid(`${at}/body`, 'must be an object');
  return { method: method as string, path, body: body ?? {} };
}

function isRevision(value: JsonValue): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function refuseUnknown(value: JsonObject, known: ReadonlySet<string>, at: string): void {
  const unknown = Object.keys(value).find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw invalid(pointerTo(at, unknown.slice(0, 64)), `is not a field here: use ${[...known].join(', ')}`);
  }
}

function invalid(path: string, message: string): Error {
  return invalidBody([{ path, message }]);
}
