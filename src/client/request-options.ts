import type { Answered } from './answer.ts';

/** Options of every call. */
export interface RequestOptions {
  /** Aborts the call, including the wait before a retry. The call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout. */
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
}

/** For writes that can be conditional on the version that was read. */
export interface ConditionalOptions extends RequestOptions {
  /**
   * An ETag, or an object that this client returned. The write succeeds only if nobody has changed the resource since;
   * otherwise it fails with status 412.
   */
  readonly ifMatch?: string | Answered | undefined;
}

/** For writes to an address: they can be conditional on what is there not being known, or not existing. */
export interface WriteOptions extends ConditionalOptions {
  /**
   * `*`: the write succeeds only if nothing is there yet, so a PUT creates and never replaces. An ETag, or an object
   * that this client returned: only if the resource differs from it. Otherwise it fails with status 412.
   */
  readonly ifNoneMatch?: string | Answered | undefined;
}

/** For creates that can be repeated safely. */
export interface CreateOptions extends RequestOptions {
  /** The same key and body create one resource, no matter how often they are sent within 24 hours. Enables retries. */
  readonly idempotencyKey?: string | undefined;
}

export type AnyOptions = WriteOptions & CreateOptions;
