import { bearerCredentials } from '../../../lib/http/bearer-credentials.ts';
import { cookieValues } from '../../../lib/http/cookie-header.ts';
import type { Refusal } from '../../contract/decides.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import { clearSessionCookies } from '../cookies/session-cookie.ts';
import type { LoginOnRoute } from '../login-on-route.ts';
import { loginUrl, originOf, targetToKeep } from './return-target.ts';

/** Redirects people to the login and tells programs where it is. */
export function loginRequired(
  request: TrafficRequest,
  login: LoginOnRoute,
  {
    reason,
    isKeyStale,
  }: { readonly reason: string /** The browser's key has no login at all. */; readonly isKeyStale: boolean },
): Refusal {
  const canComeBack = request.method === 'GET' || request.method === 'HEAD';
  const to = loginUrl(canComeBack ? targetToKeep(request.target, request.path) : '/');
  const common = { code: 'ERR_POSTERN_LOGIN_REQUIRED', reason } as const;
  if (bearerCredentials(request.headerLines('authorization')) !== null) return bearerRefused(request, reason);
  if (canComeBack && isNavigation(request)) {
    return {
      ...common,
      status: 302,
      message: 'Log in first.',
      headers: ['location', to, ...(isKeyStale ? staleCookies(request, login) : [])],
    };
  }
  const url = `${originOf(request)}${to}`;
  return {
    ...common,
    status: 401,
    message: canComeBack
      ? `You are not logged in. Log in at ${url} with a browser, then try again.`
      : `You are not logged in, so this ${request.method} request was not processed. Log in, then send it again.`,
    headers: ['www-authenticate', `Postern-Login realm="${request.host}", login_url="${url}"`],
    details: { login_url: url },
    action: { label: 'Log in', href: to },
  };
}

/** A program that sends a token cannot log in, whatever it accepts: a login page would be no answer (RFC 6750 §3). */
function bearerRefused(request: TrafficRequest, reason: string): Refusal {
  return {
    code: 'ERR_POSTERN_LOGIN_REQUIRED',
    reason,
    status: 401,
    message: 'This site does not accept that bearer token, and the request has no login.',
    headers: ['www-authenticate', `Bearer realm="${request.host}"`],
  };
}

/** A user's navigation, not a script: only a navigation can go to the provider and come back. */
export function isNavigation(request: TrafficRequest): boolean {
  if (request.switchTo !== null) return false;
  const mode = request.header('sec-fetch-mode');
  if (mode !== undefined) return mode === 'navigate';
  if (request.header('x-requested-with')?.toLowerCase() === 'xmlhttprequest') return false;
  return request.header('accept')?.includes('text/html') ?? false;
}

/**
 * A cookie that proves nothing gets in the way of the next one. A cookie with another route's login stays, and so does
 * one of a login that is over: it proves that somebody has logged in with this browser, whom the failures of others do
 * not lock out.
 */
function staleCookies(request: TrafficRequest, login: LoginOnRoute): readonly string[] {
  const { cookieNames } = login;
  const lines = request.headerLines('cookie');
  const isThere = cookieValues(lines, cookieNames.session).length > 0;
  return isThere && !login.provesLogin(lines)
    ? clearSessionCookies(cookieNames).flatMap((cookie) => ['set-cookie', cookie])
    : [];
}
