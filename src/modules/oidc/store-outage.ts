import { type ErrorCode, PosternError } from '../../lib/errors.ts';

const OUTAGES: ReadonlySet<ErrorCode> = new Set(['ERR_POSTERN_STORE_UNAVAILABLE', 'ERR_POSTERN_STORE_FULL']);

/** Whether the store could not be read or written for the moment: neither a bug here nor anything about the request. */
export function isStoreOutage(error: unknown): error is PosternError {
  return error instanceof PosternError && OUTAGES.has(error.code);
}
