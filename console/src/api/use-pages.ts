import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, asApiError } from './api-error.ts';
import { request } from './request.ts';

export type Document = Readonly<Record<string, unknown>>;

export interface Pages {
  readonly rows: readonly Document[];
  /** Of all results; null: not known. */
  readonly count: number | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
}

interface State {
  readonly rows: readonly Document[];
  readonly count: number | null;
  readonly next: string | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
}

/**
 * A list of the API, page by page: the next page is asked for when its rows come into view. A null path has no rows.
 */
export function usePages(path: string | null, listKey: string): Pages {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<State>({ rows: [], count: null, next: null, error: null, isLoading: true });
  const running = useRef<AbortController | null>(null);
  const fetchPage = useCallback(
    (uri: string, earlier: readonly Document[]) => {
      running.current?.abort();
      const controller = new AbortController();
      running.current = controller;
      setState((old) => ({ ...old, isLoading: true }));
      request<Record<string, unknown>>('GET', uri, { abort: controller.signal }).then(
        ({ data: page, count }) => {
          if (controller.signal.aborted) return;
          const following = page['next_page_uri'];
          setState((old) => ({
            count: count ?? (earlier.length === 0 ? null : old.count),
            rows: [...earlier, ...((page[listKey] as Document[] | undefined) ?? [])],
            next: typeof following === 'string' ? pathOf(following) : null,
            error: null,
            isLoading: false,
          }));
        },
        (error: unknown) => {
          if (!controller.signal.aborted) setState((old) => ({ ...old, error: asApiError(error), isLoading: false }));
        },
      );
    },
    [listKey],
  );
  useEffect(() => {
    if (path !== null) fetchPage(path, []);
    else setState({ rows: [], count: null, next: null, error: null, isLoading: false });
    return () => running.current?.abort();
  }, [path, round, fetchPage]);
  const { rows, count, next, isLoading } = state;
  return {
    rows,
    count,
    error: state.error,
    isLoading,
    hasMore: next !== null,
    loadMore: () => {
      if (next !== null && !isLoading) fetchPage(next, rows);
    },
    reload: () => setRound((old) => old + 1),
  };
}

/** The API writes its own base URL, which may differ from the one in this browser. */
function pathOf(uri: string): string {
  const { pathname, search } = new URL(uri, location.origin);
  return pathname + search;
}
