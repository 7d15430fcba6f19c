import { PosternError } from '../lib/errors.ts';

/** What other processes wrote to the same store, as far as this one knows. */
export interface OthersWrites {
  readonly revision: number;
  /** Reads the rest. Rejects soon with the store's error when it does not answer. */
  catchUp(): Promise<void>;
}

/** A client may get one answer from one node and send its next request to another. */
const MAY_BE_STALE: ReadonlySet<string> = new Set([
  'ERR_POSTERN_NOT_FOUND',
  'ERR_POSTERN_PRECONDITION_FAILED',
  'ERR_POSTERN_UNAUTHENTICATED',
]);

export interface Repetition<Result> {
  /** What is new may also be about the caller: this must check that as well. Default: the same again. */
  readonly again?: () => Result | Promise<Result>;
  /** Without the store a read answers with what this process knows. A write gets the store's error: it may be wrong about the rest. */
  readonly isWrite?: boolean;
}

/** Runs it again after an error that something new may explain, if there is something new. These errors change nothing. */
export function repeatedIfStale<Result>(
  others: OthersWrites,
  run: () => Result | Promise<Result>,
  { again = run, isWrite = false }: Repetition<Result> = {},
): Result | Promise<Result> {
  const { revision } = others;
  const afterwards = async (error: unknown): Promise<Result> => {
    if (!(error instanceof PosternError) || !MAY_BE_STALE.has(error.code)) throw error;
    await others.catchUp().catch((unread: unknown) => {
      throw isWrite ? unread : error;
    });
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
