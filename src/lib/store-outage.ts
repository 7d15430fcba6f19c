import { type ErrorCode, PosternError } from './errors.ts';

/** During a failover the database is away, then perhaps a standby, then perhaps one that lacks the last commits. */
const OUTAGES: ReadonlySet<ErrorCode> = new Set([
  'ERR_POSTERN_STORE_UNAVAILABLE',
  'ERR_POSTERN_STORE_FULL',
  'ERR_POSTERN_STORE_READ_ONLY',
  'ERR_POSTERN_STORE_WENT_BACK',
]);

/** Whether the store was temporarily not readable or writable: neither a bug here nor a fault of the request. */
export function isStoreOutage(error: unknown): error is PosternError {
  return error instanceof PosternError && OUTAGES.has(error.code);
}
