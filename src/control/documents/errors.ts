import { errorTable } from '../../kit/errors.ts';
import { type FieldProblem, fieldName } from '../../kit/schema/field-problem.ts';

export const documentErrors = errorTable({
  ERR_POSTERN_INVALID_BODY: {
    status: 400,
    explanation:
      'A field of the body is missing, unknown, of the wrong type or out of range. The message and details.field name it.',
  },
  ERR_POSTERN_UNKNOWN_REFERENCE: {
    status: 400,
    explanation:
      'A field names a resource that does not exist or is of the wrong kind. Create it first, or send another id.',
  },
  ERR_POSTERN_REFERENCE_CYCLE: {
    status: 400,
    explanation: 'The backends would refer to each other in a cycle. Remove one of the references.',
  },
  ERR_POSTERN_ALREADY_EXISTS: {
    status: 409,
    explanation:
      'Another resource already has a value that must be unique, such as a host name. details.held_by names it.',
  },
  ERR_POSTERN_IN_USE: {
    status: 409,
    explanation: 'Other resources refer to this one. details.referred_by names them: change or delete them first.',
  },
  ERR_POSTERN_LAST_API_KEY: {
    status: 409,
    explanation: 'The last API key with all scopes cannot be deleted or narrowed. Create another one first.',
  },
  ERR_POSTERN_PRECONDITION_FAILED: {
    status: 412,
    explanation:
      'The resource has changed since the ETag in If-Match was read: read it again, then repeat the change with the new ETag. With If-None-Match: the resource exists with an ETag that the header excludes.',
  },
  ERR_POSTERN_OWNED_BY_ANOTHER: {
    status: 409,
    explanation:
      'A changeset claims resources that the files of another owner have. Remove them from the files of one owner, or take them over with `"take_over": true`.',
  },
  ERR_POSTERN_TOO_MANY_CONFLICTS: {
    status: 409,
    explanation: 'Other requests kept changing the same resource. Nothing was applied. Send the request again.',
  },
  ERR_POSTERN_CHANGED_SINCE: {
    status: 409,
    explanation:
      'A later change touched the same document; details.id names its resource. Undo the later change first, or send "force": true.',
  },
  ERR_POSTERN_CHANGE_PENDING: {
    status: 409,
    explanation:
      'The write concerns a change that waits for its confirmation and may still be reverted; details.revision is its revision. Confirm it with POST /changes/{revision}/confirm, take it back with POST /changes/{revision}/revert, or wait until it is reverted: details.confirm_by says when, and details.author_id who made it.',
  },
  ERR_POSTERN_NOT_PENDING: {
    status: 409,
    explanation:
      'The change does not wait for a confirmation, or no longer: it was confirmed or reverted. `postern changes` and GET /changes show what happened.',
  },
  ERR_POSTERN_CANNOT_UNDO: {
    status: 409,
    explanation:
      'The change cannot be undone: everything that it did was changed again, or the result would be invalid, for example refer to something that no longer exists. The message says which.',
  },
  ERR_POSTERN_IDEMPOTENCY_MISMATCH: {
    status: 422,
    explanation: 'The Idempotency-Key was used before with another body. Use a new key for a new request.',
  },
  ERR_POSTERN_IDEMPOTENCY_IN_FLIGHT: {
    status: 409,
    explanation: 'The first request with this Idempotency-Key is still in progress. Wait for its response, then retry.',
  },
  ERR_POSTERN_IDEMPOTENCY_REPLAY: {
    status: 409,
    explanation:
      'The request with this Idempotency-Key has already succeeded, and its response cannot be repeated: it contained a secret that is shown only once, or the resource was deleted since. details.id names the resource.',
  },
});

export function invalidBody(problems: readonly FieldProblem[]): Error {
  const shown = problems.slice(0, 3).map((problem) => `${fieldName(problem.path) || 'the body'} ${problem.message}`);
  const more = problems.length > 3 ? ` (and ${problems.length - 3} more)` : '';
  return documentErrors.create('ERR_POSTERN_INVALID_BODY', `${shown.join('; ')}${more}`, {
    details: { field: problems[0]?.path ?? '' },
  });
}
