import { atMost } from './at-most.ts';

const LATE = Symbol('late');

/** The result, or a rejection after that time. The work goes on: what it was asked for may still be carried out. */
export async function within<Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> {
  const result = await atMost(work, timeoutMs, LATE);
  if (result === LATE) throw new Error(`${what}: no response within ${timeoutMs} ms`);
  return result;
}
