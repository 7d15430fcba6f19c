/** A refusal of the API, or a request that got no answer (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.details = details;
  }

  /** The server does not have this endpoint: pages of a newer console meet older servers. */
  get isUnavailable(): boolean {
    return this.status === 404 && this.code !== 'ERR_POSTERN_NOT_FOUND';
  }

  get isNotFound(): boolean {
    return this.code === 'ERR_POSTERN_NOT_FOUND';
  }

  get isConflict(): boolean {
    return this.status === 412;
  }
}

/** Refusals whose message says what to do. */
const WITH_ADVICE = new Set([
  'ERR_POSTERN_ACCOUNT_DISABLED',
  'ERR_POSTERN_ALREADY_EXISTS',
  'ERR_POSTERN_IDENTITY_OFF',
  'ERR_POSTERN_CANNOT_UNDO',
  'ERR_POSTERN_CHANGE_PENDING',
  'ERR_POSTERN_LAST_API_KEY',
]);

/** What a person can do about it; the API's own message says what went wrong. */
export function adviceFor({ status, code }: ApiError): string {
  if (WITH_ADVICE.has(code)) return '';
  if (status === 0) return 'Check that the server runs and that this browser can reach it, then try again.';
  if (status === 401) return 'Log in again.';
  if (status === 403) return 'Log in with a key or a role that has this scope.';
  if (status === 404) return 'It may have been deleted. Go back to the list and reload it.';
  if (status === 409) return 'Something else uses it or has changed it. Reload, then try again.';
  if (status === 412) return 'Somebody changed it meanwhile. Compare both versions, then save again.';
  if (status === 429) return 'Wait a few seconds, then try again.';
  if (status >= 500) return 'Try again. If it stays, look for the operation id in the log of the server.';
  return 'Correct the input, then try again.';
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiError(0, 'NO_ANSWER', `The server did not answer (${message}).`);
}
