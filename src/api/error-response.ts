import type { FastifyError } from 'fastify';
import { PosternError } from '../lib/errors.ts';
import { resourceErrors } from '../resources/errors.ts';
import { apiErrors } from './errors.ts';

const FRAMEWORK_ERRORS: ReadonlyMap<string, () => PosternError> = new Map([
  [
    'FST_ERR_CTP_BODY_TOO_LARGE',
    () =>
      apiErrors.create(
        'ERR_POSTERN_BODY_TOO_LARGE',
        'the body is larger than this path allows: 1 MiB (1048576 bytes), 64 MiB for /changesets',
      ),
  ],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', contentTypeError],
  ['FST_ERR_CTP_INVALID_TYPE', contentTypeError],
  ['FST_ERR_CTP_EMPTY_TYPE', contentTypeError],
  [
    'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
    () => apiErrors.create('ERR_POSTERN_BAD_REQUEST', 'the length of the body does not match Content-Length'),
  ],
  [
    'FST_ERR_BAD_URL',
    () =>
      apiErrors.create(
        'ERR_POSTERN_UNKNOWN_PATH',
        'the path is not a well-formed URL path: check its percent-encoding',
      ),
  ],
  [
    'FST_ERR_MAX_PARAM_LENGTH',
    () =>
      resourceErrors.create('ERR_POSTERN_NOT_FOUND', 'a segment of the path is longer than any id: check the address'),
  ],
]);

/**
 * Converts any thrown value into an error that may be shown. Messages of foreign errors are dropped: they could contain
 * anything.
 */
export function shownError(error: unknown): PosternError {
  if (error instanceof PosternError) return error;
  const code = (error as Partial<FastifyError>).code ?? '';
  const known = FRAMEWORK_ERRORS.get(code);
  if (known !== undefined) return known();
  return apiErrors.create(
    'ERR_POSTERN_INTERNAL',
    'internal error: see the line with this operation id in the log of the server',
    {
      cause: error,
    },
  );
}

/** Not a failure of the server, whatever broke first. */
export function cutOffError(cause: unknown): PosternError {
  return apiErrors.create('ERR_POSTERN_BAD_REQUEST', 'the connection ended before the body was complete', { cause });
}

export function contentTypeError(): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_CONTENT_TYPE',
    'a body must be declared as JSON: send "Content-Type: application/json"',
  );
}

/** Existing clients crash unless every error has `msg`, `status_code` and an object `details`. */
export function errorBody(error: PosternError, operationId: string): string {
  return JSON.stringify({
    error_code: error.code,
    status_code: error.status,
    msg: error.message,
    details: { operation_id: operationId, ...error.details },
  });
}
