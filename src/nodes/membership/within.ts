/** The result, or a rejection after that time. The work goes on, and its result is ignored. */
export async function within<Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what}: no response within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
