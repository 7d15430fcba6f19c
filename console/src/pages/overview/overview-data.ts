import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { type Loaded, useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';

const EVERY_MS = 15_000;

const running = new Map<string, Promise<unknown>>();

/** Several parts of the page ask for the same list at the same moment: one request serves them. */
function shared<Body>(path: string): Promise<Body> {
  const known = running.get(path);
  if (known !== undefined) return known as Promise<Body>;
  const started = get<Body>(path).finally(() => running.delete(path));
  running.set(path, started);
  return started;
}

/** The first page of a list; null if the scopes do not allow it or this server does not have it. */
export function useFirstPage(
  path: string,
  listKey: string,
  scope: string,
): Loaded<readonly Document[] | null> & { hasMore: boolean } {
  const loaded = useLoaded(
    path,
    async () => (isAllowed(scope) ? shared<Record<string, unknown>>(`${path}?limit=100`) : null),
    EVERY_MS,
  );
  const rows = loaded.data === null ? null : ((loaded.data[listKey] ?? []) as readonly Document[]);
  return { ...loaded, data: rows, hasMore: typeof loaded.data?.['next_page_uri'] === 'string' };
}

export interface Point {
  readonly at: string;
  readonly requests: number;
  readonly errors: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

export interface Series {
  readonly step: number;
  readonly points: readonly Point[];
  readonly nodes?: readonly { readonly name: string; readonly answered: boolean }[];
}

/** null: the scopes do not allow it. */
export function useSeries(): Loaded<Series | null> {
  return useLoaded(
    'series',
    async () => {
      if (!isAllowed('series:read')) return null;
      // By the minute, so that both parts of the page ask the same question.
      const from = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000).toISOString();
      return shared<Series>(`/series?from=${encodeURIComponent(from)}&step=60`);
    },
    EVERY_MS,
  );
}
