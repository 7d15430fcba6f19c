import { PosternError } from '../lib/errors.ts';

/** What other processes wrote to the same store, as far as this one knows. */
export interface OthersWrites {
  readonly revision: number;
  /** Reads the rest. Ends soon, also when the store does not answer. */
  catchUp(): Promise<void>;
}

/** A client may get one answer from one node and send its next request to another. */
const MAY_BE_STALE: ReadonlySet<string> = new Set([
  'ERR_POSTERN_NOT_FOUND',
  'ERR_POSTERN_PRECONDITION_FAILED',
  'ERR_POSTERN_UNAUTHENTICATED',
]);

/**
 * Runs it again after an error that something new may explain, if there is something new. These errors change nothing.
 * What is new may also be about the caller: `again` must check that as well.
 */
export function repeatedIfStale<Result>(
  others: OthersWrites,
  run: () => Result | Promise<Result>,
  again: () => Result | Promise<Result> = run,
): Result | Promise<Result> {
  const { revision } = others;
  const afterwards = async (error: unknown): Promise<Result> => {
    if (!(error instanceof PosternError) || !MAY_BE_STALE.has(error.code)) throw error;
    // Without the store, what this process knows is the answer.
    await others.catchUp().catch(() => {});
    if (others.revision === revision) throw error;
    return again();
  };
  try {
    const result = run();
    return result instanceof Promise ? result.catch(afterwards) : result;
  } catch (error) {
    return afterwards(error);
  }
}
