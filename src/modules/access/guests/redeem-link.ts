import { rfc3339 } from '../../../kit/clock.ts';
import type { OwnPathRequest } from '../../contract/prepared-module.ts';
import { GUEST_LINK_USE_KIND, guestLinkUseId } from '../../guest-link-records.ts';
import { setSessionCookies } from '../../login/session-cookie.ts';
import { GUEST_ISSUER } from '../../login/sessions/grant.ts';
import type { RecordedSession } from '../../login/sessions/record-session.ts';
import { type GuestLink, type Guests, limitsOf } from './guests.ts';

const MAX_USER_AGENT = 512;
/**
 * A redemption that loses this many races gives up. Each lost race means that another browser won, or the link changed.
 */
const MAX_TRIES = 100;

export type Redemption =
  | { readonly outcome: 'redeemed'; readonly cookies: readonly string[] }
  /** `cookies`: the browser's other logins have moved to a new key. */
  | { readonly outcome: 'spent' | 'expired' | 'revoked'; readonly cookies: readonly string[] }
  /** Whether it was counted is not known. If it was, the same browser gets in by opening the link again. */
  | { readonly outcome: 'failed'; readonly cookies: readonly string[]; readonly error: unknown };

/**
 * Binds this browser to a link. The login is stored first and counted then: until it is counted it opens nothing, and a
 * process that dies in between has not spent the link.
 */
export function redeemLink(guests: Guests, request: OwnPathRequest, id: string): Promise<Redemption> {
  return guests.redeeming.run(id, () => redeemNow(guests, request, id));
}

async function redeemNow(guests: Guests, request: OwnPathRequest, id: string): Promise<Redemption> {
  const problem = problemWith(guests, id, request.nowMs);
  if (problem !== null) return { outcome: problem, cookies: [] };
  const session = await recordGuest(guests, request, guests.links.get(id) as GuestLink);
  const cookies = setSessionCookies(guests.cookieNames, session.key, 0);
  try {
    const late = await countBrowser(guests, request, id, session.id);
    if (late !== null) {
      await guests.login.records.deleteSession(session.id);
      return { outcome: late, cookies };
    }
  } catch (error) {
    // The browser's other logins have moved to the new key: without these cookies it would lose them.
    return { outcome: 'failed', cookies, error };
  }
  guests.login.count('guest_admitted');
  guests.ports.log.info({ link: id, session: session.id, request_id: request.id }, 'a guest link was redeemed');
  return { outcome: 'redeemed', cookies };
}

function problemWith(guests: Guests, id: string, nowMs: number): 'spent' | 'expired' | 'revoked' | null {
  const link = guests.links.get(id);
  if (link === undefined) return 'revoked';
  if (nowMs >= link.expiresAtMs) return 'expired';
  return nextBrowser(guests, link) > link.maxBrowsers ? 'spent' : null;
}

/** Whether no browser is left. */
export function isSpent(guests: Guests, link: GuestLink): boolean {
  return nextBrowser(guests, link) > link.maxBrowsers;
}

function nextBrowser({ ports }: Guests, { id, maxBrowsers }: GuestLink): number {
  let browser = 1;
  while (browser <= maxBrowsers && ports.followed.get(GUEST_LINK_USE_KIND, guestLinkUseId(id, browser)) !== undefined)
    browser += 1;
  return browser;
}

/** The store accepts each number once, and only for the link as it is now. Null: this browser has one. */
async function countBrowser(
  guests: Guests,
  request: OwnPathRequest,
  id: string,
  session: string,
): Promise<ReturnType<typeof problemWith>> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const problem = problemWith(guests, id, request.nowMs);
    const link = guests.links.get(id);
    if (problem !== null || link === undefined) return problem;
    const use = {
      kind: GUEST_LINK_USE_KIND,
      id: guestLinkUseId(id, nextBrowser(guests, link)),
      parent: id,
      doc: {
        session,
        at: rfc3339(request.nowMs),
        ip_address: request.clientAddress,
        user_agent: (request.header('user-agent') ?? '').slice(0, MAX_USER_AGENT),
      },
      seen: undefined,
    };
    if (await guests.ports.followed.write([use], [link.record])) return null;
  }
  return 'spent';
}

function recordGuest(guests: Guests, request: OwnPathRequest, link: GuestLink): Promise<RecordedSession> {
  return guests.login.recordSession(request, {
    edgeId: link.edgeId,
    routeId: link.routeId,
    issuer: GUEST_ISSUER,
    clientId: link.id,
    subject: link.id,
    identityProvider: { name: 'guest', url: '' },
    // Neither the label nor the e-mail address of the link: claims are sent upstream.
    claims: {},
    scopes: [],
    cookieNames: guests.cookieNames,
    limits: limitsOf(link, request.nowMs),
    parameters: null,
    endsAtMs: null,
    providerSessionId: null,
    secrets: {},
    isInForce: (grant) => guests.isHeld(grant, request.nowMs),
  });
}
