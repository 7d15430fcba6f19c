import { createHash, createHmac } from 'node:crypto';
import type { OperationRequest, Principal } from '../resources/operation.ts';
import { apiErrors } from './errors.ts';

/** RFC 9110 §13.1.1: a list of entity tags or `*`. Weak ones never match. */
export function parseIfMatch(header: string | undefined): OperationRequest['ifMatch'] {
  // A client that lost its ETag must not write without a condition.
  if (header?.trim() === '') throw malformed('If-Match');
  return revisionsIn('If-Match', header, /^"([1-9]\d{0,15})"$/);
}

/** RFC 9110 §13.1.2: the same list, in which weak ones match too. */
export function parseIfNoneMatch(header: string | undefined): OperationRequest['ifNoneMatch'] {
  return revisionsIn('If-None-Match', header, /^(?:W\/)?"([1-9]\d{0,15})"$/);
}

/** An entity tag may contain a comma. */
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** The entity tags of a list, whose elements may be empty; null: it is malformed, or has none. */
export function entityTags(header: string): readonly string[] | null {
  const tags = header.match(TAG);
  const isSeparated = !/T[ \t]*T/.test(header.replaceAll(TAG, 'T'));
  const isList = /^[ \t,]*$/.test(header.replaceAll(TAG, '')) && isSeparated;
  return isList ? tags : null;
}

function revisionsIn(name: string, header: string | undefined, ours: RegExp): readonly number[] | 'any' | null {
  if (header === undefined || header.trim() === '') return null;
  if (header.trim() === '*') return 'any';
  const tags = entityTags(header);
  if (tags === null) throw malformed(name);
  // A tag that is not one of our revisions cannot match: -1 never does.
  return tags.map((tag) => Number(ours.exec(tag)?.[1] ?? -1));
}

function malformed(name: string): Error {
  return apiErrors.create(
    'ERR_POSTERN_INVALID_HEADER',
    `${name} must be an ETag in quotes as a response gave it, such as "12", or *`,
  );
}

/** A client that sends it relies on it: without it, a repeat would run again. */
export function idempotencyRefused({ method, path }: { readonly method: string; readonly path: string }): Error {
  return apiErrors.create(
    'ERR_POSTERN_INVALID_HEADER',
    `${method} ${path} takes no Idempotency-Key: send the request without it, and before you repeat it, read what the first one did. A changeset with expected_revision is applied only once`,
  );
}

/**
 * The scope contains caller, operation and key. The body's hash is keyed with the caller's token, so that the record
 * cannot be used to guess a weak secret in the body.
 */
export function idempotencyOf(
  header: string,
  caller: { readonly principal: Principal; readonly token: string },
  request: { readonly method: string; readonly path: string; readonly rawBody: string },
): NonNullable<OperationRequest['idempotency']> {
  if (!/^[\x21-\x7e]{1,255}$/.test(header)) {
    throw apiErrors.create(
      'ERR_POSTERN_INVALID_HEADER',
      'Idempotency-Key must be 1 to 255 visible ASCII characters, such as a UUID',
    );
  }
  const parts = [caller.principal.apiKeyId, request.method, request.path, header];
  return {
    scope: createHash('sha256').update(parts.join('\n')).digest('hex'),
    bodyHash: createHmac('sha256', caller.token).update(request.rawBody).digest('hex'),
  };
}
