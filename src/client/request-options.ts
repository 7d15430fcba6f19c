import type { Answered } from './answer.ts';

/** What every call takes. */
export interface RequestOptions {
  /** Ends the call, waiting for a retry included; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's. */
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
}

/** For writes that can be bound to what was read. */
export interface ConditionalOptions extends RequestOptions {
  /**
   * An ETag, or an object that this client returned: the write happens only if nobody has changed it since, else it fails
   * with status 412.
   */
  readonly ifMatch?: string | Answered | undefined;
}

/** For creates that can be repeated. */
export interface CreateOptions extends RequestOptions {
  /** The same key and body create one thing, however often they are sent within 24 hours. Lets the client retry. */
  readonly idempotencyKey?: string | undefined;
}

export type AnyOptions = ConditionalOptions & CreateOptions;
