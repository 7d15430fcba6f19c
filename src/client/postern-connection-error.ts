/**
 * `network`: no connection, or it broke. `timeout`: no complete response in time. `not_postern`: a success without the
 * header of every response, or whose body is not JSON, so another program is listening there.
 */
export type ConnectionFailure = 'network' | 'timeout' | 'not_postern';

export interface ConnectionErrorOptions {
  readonly cause?: unknown;
  readonly code?: string | null;
}

/** No response from the API. A write may or may not have happened. */
export class PosternConnectionError extends Error {
  readonly failure: ConnectionFailure;
  /** The system's code of a network failure, such as ECONNREFUSED, where there is one. */
  readonly code: string | null;

  constructor(failure: ConnectionFailure, message: string, { cause, code = null }: ConnectionErrorOptions = {}) {
    super(message, { cause });
    this.name = 'PosternConnectionError';
    this.failure = failure;
    this.code = code;
  }
}

/** fetch reports "fetch failed"; the reason is in its cause, or in the first of several causes. */
export function networkError(origin: string, cause: unknown): PosternConnectionError {
  const error = rootOf(cause);
  const reason = wrongScheme(origin, error) ?? networkReason(error);
  return new PosternConnectionError('network', `cannot reach ${origin}: ${reason}`, { cause, code: codeOf(error) });
}

/** What codes of the system mean to a person. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name could not be resolved, because no DNS server answers',
  EHOSTUNREACH: 'the network has no route to it',
  ENETUNREACH: 'the network has no route to it',
  ETIMEDOUT: 'it does not answer',
};

/** Why a connection failed, without codes of the system where words exist. */
export function networkReason(error: unknown): string {
  const root = rootOf(error);
  if (!(root instanceof Error)) return 'the connection failed';
  const code = codeOf(root);
  return REASONS[code ?? ''] ?? (root.message === '' ? (code ?? root.name) : root.message);
}

function rootOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.cause !== undefined) return rootOf(error.cause);
  return error instanceof AggregateError && error.errors.length > 0 ? rootOf(error.errors[0]) : error;
}

function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : null;
}

/** What TLS makes of an answer without TLS, and HTTP of a server that waits for TLS; null: something else. */
function wrongScheme(origin: string, error: unknown): string | null {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string };
  const isNotTls = /wrong version number|packet length too long|record layer failure/.test(message);
  if (/^https:/i.test(origin))
    return isNotTls ? `it answers without TLS: use ${origin.replace(/^https/i, 'http')}` : null;
  // Servers differ: some end the connection, some send an alert.
  const isMaybeTls = code === 'ECONNRESET' || code === 'UND_ERR_SOCKET' || code.startsWith('HPE_');
  return isMaybeTls
    ? `the connection ended without an answer: if it has TLS, use ${origin.replace(/^http/i, 'https')}`
    : null;
}
