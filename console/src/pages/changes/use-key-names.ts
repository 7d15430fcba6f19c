import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { textAt } from '../../format/text.ts';

/** The history has ids of keys: people know them by their descriptions. */
export function useKeyNames(): ReadonlyMap<string, string> {
  const { data } = useLoaded('key names', async (abort) => {
    if (!isAllowed('api_keys:read')) return new Map<string, string>();
    const { keys } = await get<{ keys?: readonly Document[] }>('/api_keys?limit=100', abort);
    return new Map((keys ?? []).map((key) => [textAt(key, 'id'), textAt(key, 'description') || textAt(key, 'id')]));
  });
  return data ?? new Map();
}
