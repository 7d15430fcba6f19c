import { isSameOrigin } from '../../../lib/http/is-same-origin.ts';
import type { OwnAnswer, OwnPathRequest } from '../../contract/serves-paths.ts';
import { guestSecrets } from '../../guest-link-secret.ts';
import { widestNetworkOf } from '../../login/flow/client-networks.ts';
import { originOf } from '../../login/flow/return-target.ts';
import { GUEST_ISSUER } from '../../login/guest-issuer.ts';
import type { GuestLink } from './guest-link.ts';
import { guestPage } from './guest-page.ts';
import { CROSS_SITE, linkRefusal, NO_SUCH_METHOD, tooManyGuesses } from './guest-refusals.ts';
import type { Guests } from './guests.ts';
import { isSubresource } from './is-subresource.ts';
import { isSpent, redeemLink } from './redeem-link.ts';

const ROUTE_KIND = 'https_edge_route';
/** A secret and a field name need less than 100. */
const MAX_FORM_BYTES = 1024;

/** `/.postern/guest`. `openRoutes`: those whose earlier modules admit this request, such as address rules. */
export async function serveGuestPath(
  guests: Guests,
  request: OwnPathRequest,
  openRoutes: ReadonlySet<string>,
): Promise<OwnAnswer> {
  try {
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return await open(guests, request, openRoutes);
      case 'POST':
        return await redeem(guests, request, openRoutes);
      default:
        return NO_SUCH_METHOD;
    }
  } catch (error) {
    return guests.login.storeUnavailable(request, error);
  }
}

/** Changes nothing: previews, prefetches and scanners open links too. */
async function open(guests: Guests, request: OwnPathRequest, openRoutes: ReadonlySet<string>): Promise<OwnAnswer> {
  if (isSubresource(request)) return CROSS_SITE;
  const at = request.target.indexOf('?');
  const secret = new URLSearchParams(at === -1 ? '' : request.target.slice(at + 1)).get('link') ?? '';
  const found = await findLink(guests, request, secret, openRoutes);
  if ('answer' in found) return found.answer;
  if (await isBound(guests, request, found.link)) return toRoute(guests, request, found.link, []);
  return isSpent(guests, found.link) ? linkRefusal('spent') : guestPage(found.link, secret);
}

async function redeem(guests: Guests, request: OwnPathRequest, openRoutes: ReadonlySet<string>): Promise<OwnAnswer> {
  const headers = { origin: request.header('origin'), site: request.header('sec-fetch-site') };
  if (!isSameOrigin(headers, originOf(request))) return CROSS_SITE;
  const body = await request.readBody(MAX_FORM_BYTES);
  const secret = body === null ? '' : (new URLSearchParams(body.toString('latin1')).get('link') ?? '');
  const found = await findLink(guests, request, secret, openRoutes);
  if ('answer' in found) return found.answer;
  if (await isBound(guests, request, found.link)) return toRoute(guests, request, found.link, []);
  const redemption = await redeemLink(guests, request, found.link.id);
  const { outcome, cookies } = redemption;
  if (outcome === 'redeemed') return toRoute(guests, request, found.link, cookies);
  if (outcome !== 'failed') return linkRefusal(outcome, cookies);
  const { refusal } = guests.login.storeUnavailable(request, redemption.error);
  return { refusal: { ...refusal, headers: [...(refusal.headers ?? []), ...setCookies(cookies)] } };
}

function setCookies(cookies: readonly string[]): readonly string[] {
  return cookies.flatMap((cookie) => ['set-cookie', cookie]);
}

/** A link that works on this host and on a route that is open to this request. */
async function findLink(
  guests: Guests,
  request: OwnPathRequest,
  secret: string,
  openRoutes: ReadonlySet<string>,
): Promise<{ readonly link: GuestLink } | { readonly answer: OwnAnswer }> {
  const link = guestSecrets.hasForm(secret)
    ? (guests.links.find(secret) ?? (await findAgain(guests, secret)))
    : undefined;
  if (link === undefined) return { answer: await unknownSecret(guests, request, secret) };
  if (link.host !== request.host || !openRoutes.has(link.routeId)) return { answer: linkRefusal('unknown') };
  return request.nowMs >= link.expiresAtMs ? { answer: linkRefusal('expired') } : { link };
}

/** Another process may have created it a moment ago. */
async function findAgain(guests: Guests, secret: string): Promise<GuestLink | undefined> {
  if (!guests.isGenuine(secret)) return undefined;
  await guests.ports.followed.catchUp();
  return guests.links.find(secret);
}

/** Guesses are limited as failed logins are, with a budget of their own. A link that was genuine is not a guess. */
async function unknownSecret(guests: Guests, request: OwnPathRequest, secret: string): Promise<OwnAnswer> {
  if (guests.isGenuine(secret)) return linkRefusal('revoked');
  const { clientAddress } = request;
  const startedIn = widestNetworkOf(clientAddress);
  const callback = { issuer: GUEST_ISSUER, clientAddress, startedIn, browser: null };
  const attempt = await guests.login.attempts.guess(callback);
  if ('limit' in attempt) return tooManyGuesses(attempt.retryAfterSeconds);
  attempt.failed();
  return linkRefusal('unknown');
}

/** Whether this browser has redeemed the link before, and is still admitted. */
async function isBound(guests: Guests, request: OwnPathRequest, link: GuestLink): Promise<boolean> {
  const grants = await guests.grantsOf(request, link.edgeId);
  return grants.some((grant) => grant.clientId === link.id && guests.isHeld(grant, request.nowMs));
}

/** The start of the route, on the host of the request: nothing in the link or the form names another place. */
function toRoute(guests: Guests, request: OwnPathRequest, link: GuestLink, cookies: readonly string[]): OwnAnswer {
  const path = (guests.ports.followed.get(ROUTE_KIND, link.routeId)?.doc['match'] as string | undefined) ?? '/';
  return {
    status: 303,
    headers: [
      ...['location', `${originOf(request)}${path}`],
      ...['cache-control', 'no-store'],
      ...['referrer-policy', 'no-referrer'],
      ...setCookies(cookies),
    ],
    body: '',
  };
}
