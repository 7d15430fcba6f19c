/** Errors are data: a stable code, a status, a sentence that says what to do, and string details. */
export type ErrorCode = `ERR_POSTERN_${string}`;

export interface ErrorRow {
  readonly status: number;
  /** For the generated page: when the error occurs and what to do about it. */
  readonly explanation: string;
  /** For a condition that passes by itself: sent as Retry-After. */
  readonly retryAfterSeconds?: number;
}

export type ErrorRows = Readonly<Record<ErrorCode, ErrorRow>>;

export interface ErrorOptions {
  readonly details?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export class PosternError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: Readonly<Record<string, string>>;
  /** Response headers of the error, such as Retry-After or Allow. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, status: number, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'PosternError';
    this.code = code;
    this.status = status;
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
  }
}

export interface ErrorTable<Code extends ErrorCode> {
  readonly rows: Readonly<Record<Code, ErrorRow>>;
  create(code: Code, message: string, options?: ErrorOptions): PosternError;
}

/** One table per owner. The generated error page and the OpenAPI document are built from these rows. */
export function errorTable<const Rows extends ErrorRows>(rows: Rows): ErrorTable<Extract<keyof Rows, ErrorCode>> {
  return {
    rows,
    create: (code, message, options) => {
      const { status = 500, retryAfterSeconds } = (rows[code as ErrorCode] ?? {}) as Partial<ErrorRow>;
      if (retryAfterSeconds === undefined) return new PosternError(code, status, message, options);
      const headers = { 'retry-after': String(retryAfterSeconds), ...options?.headers };
      return new PosternError(code, status, message, { ...options, headers });
    },
  };
}
