/** The result, or `late` after that time. The work goes on, and its result is ignored. */
export async function atMost<Result, Late>(
  work: Promise<Result>,
  timeoutMs: number,
  late: Late,
): Promise<Result | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>();
  const timer = setTimeout(resolve, timeoutMs, late);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

const LATE = Symbol('late');

/** The result, or a rejection after that time. The work goes on: what it was asked for may still be carried out. */
export async function within<Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> {
  const result = await atMost(work, timeoutMs, LATE);
  if (result === LATE) throw new Error(`${what}: no response within ${timeoutMs} ms`);
  return result;
}
