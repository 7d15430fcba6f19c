import { isStoreOutage } from '../kit/error-text.ts';
import type { JsonObject } from '../kit/json.ts';
import type { LoginSession, LoginStore } from './contract/login-store.ts';
import type { LearningClient } from './contract/prepare.ts';
import { Grant } from './login/sessions/grant.ts';

/** What the logins of a route are known to bring. */
export interface LearnedClaims {
  /** When the last login was that counts; null: there was none. */
  readonly lastLoginAt: string | null;
  /** Whether rules about the claim can be answered. Without a login, the requested scopes decide. */
  knows(claim: string): boolean;
}

/** By the last logins with this client, newest first. Those that requested less than it does now do not count. */
export function learnedClaims(
  { issuer, clientId, scopes, scopesFor }: Omit<LearningClient, 'isDiscovered'>,
  logins: readonly LoginSession[],
): LearnedClaims {
  const grants = logins
    .filter((login) => login.issuer === issuer && login.clientId === clientId)
    .map((login) => new Grant(login))
    .filter((grant) => grant.covers(scopes));
  const [last] = grants;
  if (last !== undefined)
    return { lastLoginAt: last.doc.created_at, knows: (claim) => grants.some((grant) => brought(grant, claim)) };
  const isRequested = (claim: string): boolean => {
    const wanted = scopesFor(claim);
    return wanted.length === 0 || wanted.some((scope) => scopes.includes(scope));
  };
  return { lastLoginAt: null, knows: isRequested };
}

/** The claims of somebody as a login would bring them, and the names of those that it would not. */
export function learnable(
  claims: JsonObject,
  learned: LearnedClaims,
): { readonly claims: JsonObject; readonly missing: readonly string[] } {
  const missing = Object.keys(claims).filter((name) => name !== 'email_verified' && !learned.knows(name));
  const isDropped = (name: string): boolean =>
    missing.includes(name) || (name === 'email_verified' && missing.includes('email'));
  return { claims: Object.fromEntries(Object.entries(claims).filter(([name]) => !isDropped(name))), missing };
}

/** A sentence for operators about what is known of logins here. */
export function learnedNote({ lastLoginAt }: LearnedClaims, missing: readonly string[]): string {
  const names = missing.join(', ');
  if (lastLoginAt === null) {
    return missing.length === 0
      ? 'Nobody has logged in here yet, so it is not known which claims the provider sends.'
      : `Nobody has logged in here yet, and the login does not request the scope for ${names}.`;
  }
  return missing.length === 0
    ? ''
    : `The last logins here, the newest at ${lastLoginAt}, brought no ${names}: the login may lack the scope for it.`;
}

function brought({ doc: { claims, dropped_claims: dropped } }: Grant, claim: string): boolean {
  const [first = claim] = claim.split('.');
  return [claim, first].some((name) => Object.hasOwn(claims, name) || dropped.includes(name)) || dropped.includes('*');
}

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

/**
 * The newest logins of each of these edges, as far as they are among the newest of all; null while the store is away.
 */
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
