import { messageOf } from '../../kit/error-text.ts';
import { PosternError } from '../../kit/errors.ts';
import { storeErrors } from '../errors.ts';
import { readOnlyDatabase } from './current-server.ts';

const DISK_FULL = '53100';
/** Data and index corruption. */
const CORRUPT = new Set(['XX001', 'XX002']);
const READ_ONLY = '25006';
/** No such database, schema, table, column: it was dropped or renamed. */
const GONE = new Set(['3D000', '3F000', '42P01', '42703']);
const REJECTED_LOGIN_CLASS = '28';
/**
 * SQLSTATE classes that concern the server or the connection, not the statement: connection, authorization, no such
 * database, transaction rollback, resources, object state (lock timeout), operator intervention, system error.
 */
const UNAVAILABLE_CLASSES = new Set(['08', '25', '28', '3D', '40', '53', '55', '57', '58']);

/**
 * For errors of `pg`, and our own of a new connection, which pass: one without an SQLSTATE is a connection error
 * (refused, reset, timed out).
 */
export function fromPostgresError(error: unknown): unknown {
  if (error instanceof PosternError) return error;
  const state = sqlState(error);
  if (state === DISK_FULL) {
    return storeErrors.create(
      'ERR_POSTERN_STORE_FULL',
      'the database server has no space left. Nothing was applied: free space there and try again',
      { cause: error },
    );
  }
  if (state !== null && CORRUPT.has(state)) {
    return storeErrors.create(
      'ERR_POSTERN_STORE_CORRUPT',
      `the database is damaged: ${messageOf(error)}. Stop the servers and restore a backup (postern store restore --replace)`,
      { cause: error },
    );
  }
  if (state === READ_ONLY) return readOnlyDatabase(messageOf(error), error);
  if (state !== null && GONE.has(state)) {
    return storeErrors.create(
      'ERR_POSTERN_STORE_GONE',
      `the database, or one of its tables, does not exist: ${messageOf(error)}. Check POSTERN_DATABASE_URL and its search_path, or restore a backup (postern store restore)`,
      { cause: error },
    );
  }
  if (state?.startsWith(REJECTED_LOGIN_CLASS)) {
    return storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      `the database rejected the login: ${messageOf(error)}. Check user and password in POSTERN_DATABASE_URL and restart`,
      { cause: error },
    );
  }
  if (state === null || UNAVAILABLE_CLASSES.has(state.slice(0, 2))) {
    return storeErrors.create(
      'ERR_POSTERN_STORE_UNAVAILABLE',
      `the database could not be used: ${connectionProblem(error)}. Check that it runs and can be reached, then try again`,
      {
        cause: error,
      },
    );
  }
  return error;
}

/** A connection that failed, without codes of the system where words exist. */
function connectionProblem(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(connectionProblem))].join('; ');
  const { code, address, port, hostname } = (error ?? {}) as Readonly<Record<string, unknown>>;
  if (code === 'ECONNREFUSED' && typeof address === 'string') return `nothing listens at ${address}:${String(port)}`;
  if (code === 'ENOTFOUND') return `the name ${String(hostname)} does not resolve`;
  return messageOf(error);
}

/** Ended by the server: an administrator, a crash, a transaction that was idle too long. */
const ENDED = new Set(['57P01', '57P02', '25P03']);

/** The server ended a transaction that was idle too long: nothing of it was applied, whatever was sent since. */
export function isEndedIdle(error: unknown): boolean {
  return error instanceof PosternError && sqlState(error.cause) === '25P03';
}

/** In contrast to a timeout: a retry would wait as long again. */
export function isLostConnection(error: unknown): boolean {
  if (!(error instanceof PosternError) || error.code !== 'ERR_POSTERN_STORE_UNAVAILABLE') return false;
  const state = sqlState(error.cause);
  return state === null ? !/timeout/i.test(error.message) : ENDED.has(state);
}

/** The driver gave up waiting: in contrast to a statement_timeout, which the server reports. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof PosternError && error.cause instanceof Error && error.cause.message === 'Query read timeout';
}

function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  // No class of SQLSTATE begins with E. Node's own codes do, and EPIPE is as long.
  return typeof error.code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(error.code) ? error.code : null;
}
