/** Sleeps; rejects with the signal's reason as soon as it aborts. */
export function abortableSleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
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

export interface Deadline {
  readonly signal: AbortSignal;
  readonly hasPassed: () => boolean;
  clear(): void;
}

/**
 * A signal for one attempt. Not `AbortSignal.any`: a long-lived signal of the caller would collect one dependent per
 * call.
 */
export function deadline(timeoutMs: number, outer: AbortSignal | undefined): Deadline {
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
