import { PosternError } from '../../kit/errors.ts';

/** What other processes wrote to the same store, as far as this one knows. */
export interface OthersWrites {
  readonly revision: number;
  /** False: for some seconds it has been unknown here what others deleted. A key may have been revoked. */
  readonly isCurrent: boolean;
  /** Not null after this node stood still, until it knows what others changed meanwhile: false if that cannot be known. */
  readonly behind: Promise<boolean> | null;
  /** Reads the rest. Rejects soon with the store's error when it does not answer. */
  catchUp(): Promise<void>;
}

/** A client may get one answer from one node and send its next request to another. */
const MAY_BE_STALE: ReadonlySet<string> = new Set([
  'ERR_POSTERN_NOT_FOUND',
  'ERR_POSTERN_PRECONDITION_FAILED',
  'ERR_POSTERN_UNAUTHENTICATED',
  'ERR_POSTERN_CONSOLE_SESSION',
]);

export interface Repetition<Result> {
  /** What is new may also be about the caller: this must check that as well. Default: the same again. */
  readonly again?: () => Result | Promise<Result>;
}

/**
 * Runs it again after an error that something new may explain, if there is something new. These errors change nothing. If
 * it cannot be known whether there is, the error is that of the store: "not found" may be wrong.
 */
export function repeatedIfStale<Result>(
  others: OthersWrites,
  run: () => Result | Promise<Result>,
  { again = run }: Repetition<Result> = {},
): Result | Promise<Result> {
  const { revision } = others;
  const afterwards = async (error: unknown): Promise<Result> => {
    if (!(error instanceof PosternError) || !MAY_BE_STALE.has(error.code)) throw error;
    await others.catchUp();
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
