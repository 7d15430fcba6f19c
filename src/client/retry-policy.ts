import { PosternApiError } from './postern-api-error.ts';
import { PosternConnectionError } from './postern-connection-error.ts';

export interface RetryPolicy {
  /** Attempts after the first; 0 disables retries. */
  readonly maxRetries: number;
  /** The first delay, doubled each time, with jitter. */
  readonly baseDelayMs: number;
  /** If the server asks for a longer wait, the call is not retried. */
  readonly maxDelayMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { maxRetries: 2, baseDelayMs: 200, maxDelayMs: 20_000 };

export interface Attempt {
  readonly method: string;
  readonly hasIdempotencyKey: boolean;
  /** Sent with If-Match or If-None-Match. */
  readonly isConditional: boolean;
  /** 0 for the first. */
  readonly index: number;
}

/** Delay before the next attempt; null when the failure is final. */
export function retryDelayMs(
  error: unknown,
  attempt: Attempt,
  policy: RetryPolicy,
  random: () => number,
): number | null {
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
