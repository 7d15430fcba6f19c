import type { FetchedResponse } from './transport.ts';

export interface ApiErrorFields {
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
