import { PosternError } from '../../kit/errors.ts';
import { storeErrors } from '../../store/errors.ts';
import type { Store } from '../../store/store.ts';

/** What other processes wrote to the same store, as far as this one knows. */
export interface OthersWrites {
  readonly revision: number;
  /** False: for some seconds it has been unknown here what others deleted. A key may have been revoked. */
  readonly isCurrent: boolean;
  /**
   * Not null after this node stood still, until it knows what others changed meanwhile: false if that cannot be known.
   */
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
 * Runs it again after an error that something new may explain, if there is something new. These errors change nothing.
 * If it cannot be known whether there is, the error is that of the store: "not found" may be wrong.
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

/** The store's content in memory, as far as this process has read it. */
interface ReadRecords {
  readonly heardRevision: number;
  refresh(): Promise<unknown>;
}

/** What other nodes report of their writes. */
interface News extends Pick<OthersWrites, 'isCurrent' | 'behind'> {
  catchUp(timeoutMs: number): Promise<unknown>;
}

/** A client waits for it: more than twenty round trips to a database 200 ms away. */
const CATCH_UP_MS = 5_000;

/** What other nodes wrote. A store that only this process uses contains nothing else. */
export function othersWrites(store: Pick<Store, 'sharing'>, records: ReadRecords, news: News | null): OthersWrites {
  return {
    get revision() {
      return records.heardRevision;
    },
    get isCurrent() {
      return news?.isCurrent !== false;
    },
    get behind() {
      return news?.behind ?? null;
    },
    catchUp: async () => {
      if (!store.sharing.isShared) return;
      const reading = news === null ? records.refresh() : news.catchUp(CATCH_UP_MS);
      await reading.catch(() => {
        throw unread();
      });
      // Until then keys count as unknown.
      await news?.behind;
    },
  };
}

function unread(): Error {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    'the store does not answer, so this node does not know what other nodes have changed: nothing was written, send the request again',
  );
}
