import { type ErrorCode, PosternError } from './errors.ts';

/** What an error says. When every address of a host failed, the runtime's error has no text of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** The code of a failure of the system, such as ENOENT, for a message. */
export function failureCode(cause: unknown, otherwise = 'unreadable'): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : otherwise;
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist. Check the path',
  ENOTDIR: 'a part of the path is a file, not a directory. Check the path',
  EISDIR: 'it is a directory. Name a file',
  EROFS: 'its file system is mounted read-only. Name a file elsewhere',
  ENOSPC: 'its disk is full. Free space there, or name a file on another disk',
  EDQUOT: 'the disk quota of this user is used up. Free space there, or name a file on another disk',
};

/** The end of "cannot read PATH: …": what is wrong with a file that a person named, and what to do. */
export function whyUnreadable(cause: unknown): string {
  return fileReason(cause, 'this user may not read it. Change its owner or mode, or run this as a user who may');
}

/** The same for "cannot write PATH: …". */
export function whyUnwritable(cause: unknown): string {
  return failureCode(cause) === 'ENOENT'
    ? 'its directory does not exist. Create it, or check the path'
    : fileReason(cause, 'this user may not write there. Name a file elsewhere, or run this as a user who may');
}

function fileReason(cause: unknown, ifDenied: string): string {
  const code = failureCode(cause);
  return code === 'EACCES' || code === 'EPERM' ? ifDenied : (REASONS[code] ?? code);
}

/** Whether a path is right, and the disk has no room. */
export function isDiskFull(cause: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(failureCode(cause));
}

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
