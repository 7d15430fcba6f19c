import { type ResponseInfo, responseInfo, responseOf } from './answer.ts';
import {
  apiErrorOf,
  type FetchedResponse,
  networkError,
  PosternApiError,
  PosternConnectionError,
} from './call-errors.ts';
import type { AnyOptions } from './request-options.ts';

/** Sleeps; rejects with the signal's reason as soon as it aborts. */
function abortableSleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

interface Deadline {
  readonly signal: AbortSignal;
  readonly hasPassed: () => boolean;
  clear(): void;
}

/**
 * A signal for one attempt. Not `AbortSignal.any`: a long-lived signal of the caller would collect one dependent per
 * call.
 */
function deadline(timeoutMs: number, outer: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  let isLate = false;
  const onAbort = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, timeoutMs);
  return {
    signal: controller.signal,
    hasPassed: () => isLate,
    clear: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', onAbort);
    },
  };
}

export interface RetryPolicy {
  /** Attempts after the first; 0 disables retries. */
  readonly maxRetries: number;
  /** The first delay, doubled each time, with jitter. */
  readonly baseDelayMs: number;
  /** If the server asks for a longer wait, the call is not retried. */
  readonly maxDelayMs: number;
}

const defaultRetryPolicy: RetryPolicy = { maxRetries: 2, baseDelayMs: 200, maxDelayMs: 20_000 };

interface Attempt {
  readonly method: string;
  readonly hasIdempotencyKey: boolean;
  /** Sent with If-Match or If-None-Match. */
  readonly isConditional: boolean;
  /** 0 for the first. */
  readonly index: number;
}

/** Delay before the next attempt; null when the failure is final. */
function retryDelayMs(error: unknown, attempt: Attempt, policy: RetryPolicy, random: () => number): number | null {
  if (attempt.index >= policy.maxRetries || !isRepeatable(attempt)) return null;
  // Half of the delay is random: clients that failed together must not return together.
  const backoffMs = policy.baseDelayMs * 2 ** attempt.index * (0.5 + random() / 2);
  if (error instanceof PosternConnectionError) {
    // The lost response may have been a success, and repeating a conditional write would then fail with 412.
    return error.failure === 'network' && !attempt.isConditional ? Math.min(backoffMs, policy.maxDelayMs) : null;
  }
  if (!(error instanceof PosternApiError) || (error.status !== 429 && error.status !== 503)) return null;
  const delayMs = Math.max(backoffMs, error.retryAfterMs ?? 0);
  return delayMs > policy.maxDelayMs ? null : delayMs;
}

/** RFC 9110 §9.2.2, and a POST that the server recognizes by its key. */
function isRepeatable({ method, hasIdempotencyKey }: Attempt): boolean {
  return method === 'GET' || method === 'PUT' || method === 'DELETE' || (method === 'POST' && hasIdempotencyKey);
}

/** The global fetch, or a function that does what the client needs of it. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly signal: AbortSignal;
    readonly redirect: 'error';
  },
) => Promise<FetchedResponse>;

export interface ClientOptions {
  /** Base URL of the API, such as `http://127.0.0.1:7080`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Replaces the global fetch: a proxy, a test. */
  readonly fetch?: Fetch;
  /** For one attempt, including the body. Default: 30 seconds. */
  readonly timeoutMs?: number;
  readonly retry?: Partial<RetryPolicy>;
}

export interface ApiRequest {
  readonly method: string;
  /** Relative to the base URL, with its query. */
  readonly path: string;
  readonly body?: unknown;
}

export interface RawAnswer {
  readonly info: ResponseInfo;
  readonly text: string;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const API_VERSION = '2';
const CONDITIONS = [
  ['ifMatch', 'if-match'],
  ['ifNoneMatch', 'if-none-match'],
] as const;

/** Sends requests and maps failures to errors. The only part of the client that touches the network. */
export class Transport {
  readonly #baseUrl: string;
  /** A private field at run time, not only in the type: logging or serializing a client does not reveal it. */
  readonly #apiKey: string;
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;
  readonly #retry: RetryPolicy;

  constructor(options: ClientOptions) {
    if (!URL.canParse(options.baseUrl) || !/^https?:/i.test(options.baseUrl)) {
      throw new TypeError('baseUrl must be an absolute http or https URL');
    }
    // Checked here because fetch would include the key in its message.
    if (!/^[\x21-\x7e]+$/.test(options.apiKey))
      throw new TypeError('apiKey must be visible ASCII, without line breaks');
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.#apiKey = options.apiKey;
    // Browsers refuse to call fetch with a receiver other than the window.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#retry = { ...defaultRetryPolicy, ...options.retry };
  }

  async send(request: ApiRequest, options: AnyOptions = {}): Promise<RawAnswer> {
    const headers = this.#headers(request, options);
    const policy = { ...this.#retry, maxRetries: options.maxRetries ?? this.#retry.maxRetries };
    for (let index = 0; ; index += 1) {
      try {
        return await this.#attempt(request, headers, options);
      } catch (error) {
        if (options.signal?.aborted === true) throw error;
        const attempt = {
          method: request.method,
          hasIdempotencyKey: headers['idempotency-key'] !== undefined,
          isConditional: headers['if-match'] !== undefined || headers['if-none-match'] !== undefined,
          index,
        };
        const delayMs = retryDelayMs(error, attempt, policy, Math.random);
        if (delayMs === null) throw error;
        await abortableSleep(delayMs, options.signal);
      }
    }
  }

  async #attempt(request: ApiRequest, headers: Record<string, string>, options: AnyOptions): Promise<RawAnswer> {
    const { signal } = options;
    signal?.throwIfAborted();
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    const limit = deadline(timeoutMs, signal);
    try {
      const response = await this.#fetch(`${this.#baseUrl}${request.path}`, {
        method: request.method,
        headers,
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
        signal: limit.signal,
        // The API never redirects; a redirect target must not receive the key.
        redirect: 'error',
      });
      const text = await response.text();
      if (!response.ok) throw apiErrorOf(this.#baseUrl, response, text, Date.now());
      const info = responseInfo(response);
      // Every response of the API has one. Another program's JSON would be read as empty objects.
      if (info.operationId === null) throw notPostern(this.#baseUrl);
      return { info, text };
    } catch (error) {
      if (error instanceof PosternApiError || error instanceof PosternConnectionError) throw error;
      if (signal?.aborted === true) throw signal.reason;
      if (limit.hasPassed()) {
        throw new PosternConnectionError('timeout', `${this.#baseUrl} did not respond within ${timeoutMs} ms`);
      }
      throw networkError(this.#baseUrl, error);
    } finally {
      limit.clear();
    }
  }

  #headers(request: ApiRequest, options: AnyOptions): Record<string, string> {
    const headers: Record<string, string> = {
      accept: 'application/json',
      authorization: `Bearer ${this.#apiKey}`,
      'service-version': API_VERSION,
    };
    if (request.body !== undefined) headers['content-type'] = 'application/json';
    if (options.idempotencyKey !== undefined) headers['idempotency-key'] = options.idempotencyKey;
    for (const [name, header] of CONDITIONS) {
      const condition = options[name];
      if (condition !== undefined) headers[header] = etagOf(name, condition);
    }
    return headers;
  }
}

function notPostern(baseUrl: string): PosternConnectionError {
  return new PosternConnectionError(
    'not_postern',
    `${baseUrl} is not the API of a Postern server, although it answers: its response has no Postern-Operation-Id. Use the address of api_listen`,
  );
}

/** Never sends a conditional write unconditionally. */
function etagOf(name: string, condition: NonNullable<AnyOptions['ifMatch']>): string {
  const etag = typeof condition === 'string' ? condition : responseOf(condition)?.etag;
  if (etag === null || etag === undefined || etag === '')
    throw new TypeError(`${name} has no ETag: pass what get, create or update returned`);
  return etag;
}
