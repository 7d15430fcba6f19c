/**
 * `network`: no connection, or it broke. `timeout`: no complete response in time. `not_postern`: a success without the
 * header of every response, or whose body is not JSON, so another program is listening there.
 */
export type ConnectionFailure = 'network' | 'timeout' | 'not_postern';

/** No response from the API. A write may or may not have happened. */
export class PosternConnectionError extends Error {
  readonly failure: ConnectionFailure;

  constructor(failure: ConnectionFailure, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'PosternConnectionError';
    this.failure = failure;
  }
}

/** fetch reports "fetch failed"; the reason is in its cause, or in the first of several causes. */
export function networkError(origin: string, cause: unknown): PosternConnectionError {
  const error = rootOf(cause);
  const reason = wrongScheme(origin, error) ?? reasonOf(error);
  return new PosternConnectionError('network', `cannot reach ${origin}: ${reason}`, { cause });
}

function rootOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.cause !== undefined) return rootOf(error.cause);
  return error instanceof AggregateError && error.errors.length > 0 ? rootOf(error.errors[0]) : error;
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

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed';
  return error.message === '' ? ((error as { code?: string }).code ?? error.name) : error.message;
}
