/** A response, as far as the client reads it. */
export interface FetchedResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: {
    /** The name is in lower case. */
    get(name: string): string | null;
  };
  text(): Promise<string>;
}

interface ApiErrorFields {
  /** Stable: branch on this, not on the message. `HTTP_502` and the like when an intermediary responded. */
  readonly code: string;
  readonly status: number;
  readonly operationId: string | null;
  /** For example `field`, the JSON pointer to the invalid part of the body. */
  readonly details: Readonly<Record<string, string>>;
  readonly message: string;
  /** Wait requested by the server, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** The body as received. */
  readonly text: string;
}

/** The API rejected the request. Nothing was changed, unless `status` is 5xx: then it may have been. */
export class PosternApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly operationId: string | null;
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | null;
  readonly text: string;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.name = 'PosternApiError';
    this.code = fields.code;
    this.status = fields.status;
    this.operationId = fields.operationId;
    this.details = fields.details;
    this.retryAfterMs = fields.retryAfterMs;
    this.text = fields.text;
  }
}

interface ErrorBody {
  readonly error_code?: unknown;
  readonly msg?: unknown;
  readonly details?: unknown;
}

export function apiErrorOf(
  origin: string,
  response: Pick<FetchedResponse, 'status' | 'headers'>,
  text: string,
  nowMs: number,
): PosternApiError {
  const body = parsed(text);
  const details = stringsOf(body.details);
  return new PosternApiError({
    code: typeof body.error_code === 'string' ? body.error_code : `HTTP_${response.status}`,
    status: response.status,
    operationId: response.headers.get('postern-operation-id') ?? details['operation_id'] ?? null,
    details,
    message:
      typeof body.msg === 'string'
        ? body.msg
        : `${origin} responded with status ${response.status}, but not as the API of a Postern server`,
    retryAfterMs: retryAfter(response.headers.get('retry-after'), nowMs),
    text,
  });
}

/** RFC 9110 §10.2.3: seconds or a date. */
function retryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

function parsed(text: string): ErrorBody {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function stringsOf(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/**
 * `network`: no connection, or it broke. `timeout`: no complete response in time. `not_postern`: a success without the
 * header of every response, or whose body is not JSON, so another program is listening there.
 */
export type ConnectionFailure = 'network' | 'timeout' | 'not_postern';

interface ConnectionErrorOptions {
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
