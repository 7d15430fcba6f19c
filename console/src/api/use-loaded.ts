import { useCallback, useEffect, useState } from 'preact/hooks';
import { type ApiError, asApiError } from './api-error.ts';

export interface Loaded<Data> {
  /** The former data stays while it is loaded again: nothing jumps. */
  readonly data: Data | null;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Loads when `key` changes, and again every `everyMs` while the page is visible. */
export function useLoaded<Data>(
  key: string,
  load: (abort: AbortSignal) => Promise<Data>,
  everyMs?: number,
): Loaded<Data> {
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ key: string; data: Data | null; error: ApiError | null; isLoading: boolean }>({
    key,
    data: null,
    error: null,
    isLoading: true,
  });
  useEffect(() => {
    const controller = new AbortController();
    setState((old) => ({ ...(old.key === key ? old : { data: null, error: null }), key, isLoading: true }));
    load(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ key, data, error: null, isLoading: false });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState((old) => ({ ...old, error: asApiError(error), isLoading: false }));
      },
    );
    return () => controller.abort();
    // `load` is a new function in each render; its inputs are in the key.
  }, [key, round]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) setRound((old) => old + 1);
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  const reload = useCallback(() => setRound((old) => old + 1), []);
  const isOwn = state.key === key;
  return {
    data: isOwn ? state.data : null,
    error: isOwn ? state.error : null,
    isLoading: isOwn ? state.isLoading : true,
    reload,
  };
}
