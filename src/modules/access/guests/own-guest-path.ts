import { routeRecord } from '../../../edges/record-kinds.ts';
import { escapedHtml, PAGE_STYLE_SOURCE, plainPage } from '../../../kit/http/plain-page.ts';
import { isSameOrigin } from '../../../kit/http/whole-request.ts';
import type { Refusal, TrafficRequest } from '../../contract/decides.ts';
import type { OwnAnswer, OwnPathRequest } from '../../contract/prepared-module.ts';
import { GUEST_PATH, guestSecrets } from '../../guest-link-records.ts';
import { widestNetworkOf } from '../../login/flow/login-attempts.ts';
import { originOf } from '../../login/flow/return-target.ts';
import { GUEST_ISSUER } from '../../login/sessions/grant.ts';
import type { GuestLink, Guests } from './guests.ts';
import { isSpent, redeemLink } from './redeem-link.ts';

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
  const path = (routeRecord(guests.ports.followed, link.routeId)?.doc['match'] as string | undefined) ?? '/';
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

const UNTIL = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

const POLICY = [
  "default-src 'none'",
  `style-src ${PAGE_STYLE_SOURCE}`,
  // Not 'self': browsers apply it to every redirect after the form, also to those of the upstream (CSP3 §6.4.2).
  'form-action *',
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = [
  ...['content-type', 'text/html; charset=utf-8'],
  ...['cache-control', 'no-store'],
  ...['content-security-policy', POLICY],
  ...['x-content-type-options', 'nosniff'],
  // The address has the secret.
  ...['referrer-policy', 'no-referrer'],
  ...['x-robots-tag', 'noindex'],
];

/** Shown before anything is spent: previews of messengers and prefetching browsers only see this. */
function guestPage(link: GuestLink, secret: string): OwnAnswer {
  const until = `${UNTIL.format(link.expiresAtMs)} UTC`;
  const once =
    link.maxBrowsers === 1
      ? '<p>The link works in one browser. Continue in the browser that you want to use.</p>'
      : `<p>The link works in up to ${link.maxBrowsers} browsers.</p>`;
  const body = plainPage({
    title: 'You are invited as a guest',
    body: `<p>You may use <strong>${escapedHtml(link.host)}</strong> with this browser until <time>${escapedHtml(until)}</time>.</p>
${once}
<form method="post" action="${GUEST_PATH}"><input type="hidden" name="link" value="${escapedHtml(secret)}"><button class="button">Continue</button></form>`,
  });
  return { status: 200, headers: HEADERS, body };
}

const ASK = 'Ask the person who sent it to you for a new one.';

/** The address has the secret of the link: no request from these pages may name it. */
const NO_REFERRER = ['referrer-policy', 'no-referrer'] as const;

type LinkProblem = 'spent' | 'expired' | 'revoked' | 'unknown';

const PROBLEMS: Readonly<Record<LinkProblem, Pick<Refusal, 'code' | 'title' | 'message'>>> = {
  spent: {
    code: 'ERR_POSTERN_GUEST_LINK_SPENT',
    title: 'This link was already used',
    message:
      'It was opened in as many browsers as it allows. If you opened it before, return to that browser. Otherwise ask the person who sent it to you for a new one.',
  },
  expired: {
    code: 'ERR_POSTERN_GUEST_LINK_EXPIRED',
    title: 'This link has expired',
    message: `The time for which it was made is over. ${ASK}`,
  },
  revoked: {
    code: 'ERR_POSTERN_GUEST_LINK_REVOKED',
    title: 'This link was revoked',
    message: `The operator of this site has withdrawn it. ${ASK}`,
  },
  unknown: {
    code: 'ERR_POSTERN_GUEST_LINK_UNKNOWN',
    title: 'This link does not work',
    message: `Check that its address is complete. ${ASK}`,
  },
};

function linkRefusal(problem: LinkProblem, cookies: readonly string[] = []): OwnAnswer {
  const headers = [...NO_REFERRER, ...cookies.flatMap((cookie) => ['set-cookie', cookie])];
  return { refusal: { status: 410, reason: `guest_link_${problem}`, headers, ...PROBLEMS[problem] } };
}

const CROSS_SITE: OwnAnswer = {
  refusal: {
    status: 403,
    code: 'ERR_POSTERN_GUEST_LINK_CROSS_SITE',
    reason: 'guest_link_cross_site',
    title: 'Open the link again',
    message:
      'The request did not come from the page of a guest link on this site, so nothing was changed. Open the link again in a current browser, and use the button there.',
    headers: NO_REFERRER,
  },
};

function tooManyGuesses(retryAfterSeconds: number): OwnAnswer {
  return {
    refusal: {
      status: 429,
      code: 'ERR_POSTERN_LOGIN_RATE_LIMITED',
      reason: 'guest_link_guesses',
      title: 'Too many attempts',
      message: `Too many links that do not work were opened from your address or network. Try again in ${retryAfterSeconds} s.`,
      headers: ['retry-after', String(retryAfterSeconds), ...NO_REFERRER],
    },
  };
}

const NO_SUCH_METHOD: OwnAnswer = {
  refusal: {
    status: 404,
    code: 'ERR_POSTERN_NO_OWN_PATH',
    reason: 'no_own_path',
    message: 'Guest links are opened with GET and redeemed with POST.',
  },
};

/**
 * Whether a page loads this as an image, frame, script or the like. People open links; a page that embeds one is not
 * the visitor's choice, so nothing is looked up or counted for it. Browsers send Sec-Fetch-Dest since 2023; for others
 * the separate budget of guesses has to do.
 */
function isSubresource(request: TrafficRequest): boolean {
  const dest = request.header('sec-fetch-dest');
  return dest !== undefined && dest !== 'document' && request.header('sec-fetch-site') !== 'same-origin';
}
