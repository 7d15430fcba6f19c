/**
 * `network`: no connection, or it broke. `timeout`: no complete response in time. `not_postern`: a success whose body
 * is not JSON, so another program is listening there.
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
  return new PosternConnectionError('network', `cannot reach ${origin}: ${reasonOf(cause)}`, { cause });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the connection failed';
  if (error.cause !== undefined) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error.message === '' ? ((error as { code?: string }).code ?? error.name) : error.message;
}
