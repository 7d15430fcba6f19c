import { isStoreOutage } from '../lib/store-outage.ts';
import type { LoginSession, LoginStore } from './login/login-store.ts';

const PER_PAGE = 500;
/** Enough to know what logins bring, and soon read. */
const MAX_PAGES = 4;
const MAX_LOGINS = 20;

/** All logins that have not ended, newest first, page by page. */
export async function* loginPages(
  logins: Pick<LoginStore, 'listSessions'>,
  nowMs: number,
): AsyncGenerator<readonly LoginSession[]> {
  let beforeId: string | null = null;
  for (;;) {
    const page: readonly LoginSession[] = await logins.listSessions({ beforeId, limit: PER_PAGE, nowMs });
    yield page;
    if (page.length < PER_PAGE) return;
    beforeId = page.at(-1)?.id ?? null;
  }
}

/** The newest logins of each of these edges, as far as they are among the newest of all; null while the store is away. */
export async function recentLogins(
  logins: Pick<LoginStore, 'listSessions'>,
  edgeIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly LoginSession[]> | null> {
  try {
    return await readRecent(logins, edgeIds, nowMs);
  } catch (error) {
    if (!isStoreOutage(error)) throw error;
    return null;
  }
}

async function readRecent(
  logins: Pick<LoginStore, 'listSessions'>,
  edgeIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly LoginSession[]>> {
  const found = new Map(edgeIds.map((id): [string, LoginSession[]] => [id, []]));
  let pages = 0;
  if (found.size === 0) return found;
  for await (const page of loginPages(logins, nowMs)) {
    for (const session of page) {
      const ofEdge = found.get(session.edgeId);
      if (ofEdge !== undefined && ofEdge.length < MAX_LOGINS) ofEdge.push(session);
    }
    pages += 1;
    if (pages === MAX_PAGES || [...found.values()].every(({ length }) => length === MAX_LOGINS)) break;
  }
  return found;
}
