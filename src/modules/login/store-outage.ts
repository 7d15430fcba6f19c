import { type ErrorCode, PosternError } from '../../lib/errors.ts';

const OUTAGES: ReadonlySet<ErrorCode> = new Set(['ERR_POSTERN_STORE_UNAVAILABLE', 'ERR_POSTERN_STORE_FULL']);

/** Whether the store was temporarily not readable or writable: neither a bug here nor a fault of the request. */
export function isStoreOutage(error: unknown): error is PosternError {
  return error instanceof PosternError && OUTAGES.has(error.code);
}
