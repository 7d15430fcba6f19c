import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { subjectIdentity } from '../../../kit/text/secrets.ts';
import type { OwnAnswer, OwnPathRequest, OwnPathSite } from '../../contract/prepared-module.ts';
import { clearTrail } from '../flow-cookies.ts';
import { isNavigation, LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { confirmLogoutPage, jsonAnswer, loggedOutPage, redirect } from '../pages.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import { clearSessionCookies } from '../session-cookie.ts';
import type { Grant } from '../sessions/grant.ts';
import { originOf } from './return-target.ts';

export const LOGGED_OUT_PATH = '/.postern/logout/done';

/** Ends every login of this browser on this host, and at the provider if it has an end-session endpoint. */
export async function logOut(runtime: LoginRuntime, request: OwnPathRequest, site: OwnPathSite): Promise<OwnAnswer> {
  if (!isMeant(request)) return confirmLogoutPage();
  const keys = runtime.cookies.allKeys(request.headerLines('cookie'));
  const ended: Grant[] = [];
  for (const key of keys) {
    const grants = (await runtime.sessions.load(key))?.grants ?? [];
    ended.push(...grants);
    await runtime.records.endByKey(key.keyHash);
    // A login in another tab may just have moved them to a new key.
    for (const grant of grants) if (!grant.isEnded) await runtime.records.deleteSession(grant.id);
  }
  const names = [
    ...keys.map((key) => key.names),
    ...site.modules.flatMap((login) => (login instanceof LoginOnRoute ? [login.cookieNames] : [])),
  ];
  // A user who logs out and in again is not in a loop.
  const cookies = [...new Set(names.flatMap((each) => clearSessionCookies(each))), clearTrail()];
  if (ended.length > 0) runtime.count('logged_out');
  const providerUrl = await endSessionUrl(request, site, ended);
  if (request.method === 'POST' && !isNavigation(request)) {
    const answer = { logged_out: true, ...(providerUrl !== null && { end_session_url: providerUrl }) };
    return jsonAnswer(
      200,
      answer,
      cookies.flatMap((cookie) => ['set-cookie', cookie]),
    );
  }
  return redirect(providerUrl ?? `${originOf(request)}${LOGGED_OUT_PATH}`, cookies);
}

export function loggedOut(): OwnAnswer {
  return loggedOutPage();
}

/**
 * Another site can make a browser send a request, but not one that claims to come from here. An image or a prefetched
 * link does not come from a click either, wherever it is.
 */
function isMeant(request: OwnPathRequest): boolean {
  const site = request.header('sec-fetch-site');
  if (request.method !== 'POST') {
    const isFetched = request.header('sec-fetch-mode') === 'no-cors' || request.header('sec-purpose') !== undefined;
    return request.method === 'GET' && site === 'same-origin' && !isFetched;
  }
  const origin = request.header('origin');
  // Our own form sends "null", because its page sends no referrer; then the browser's Sec-Fetch-Site has to do.
  if (origin === 'null') return site === 'same-origin';
  if (origin !== undefined && origin !== originOf(request)) return false;
  return site === undefined || site === 'same-origin' || site === 'none';
}

/** The provider's end-session URL, for the most recently used login that a module here still knows. */
async function endSessionUrl(
  request: OwnPathRequest,
  site: OwnPathSite,
  ended: readonly Grant[],
): Promise<string | null> {
  for (const grant of ended.toSorted((a, b) => b.lastActiveMs - a.lastActiveMs)) {
    const login = site.modules.find(
      (each) =>
        each instanceof LoginOnRoute && each.config.issuer === grant.issuer && each.config.clientId === grant.clientId,
    );
    if (!(login instanceof LoginOnRoute)) continue;
    try {
      const url = await login.client.endSessionUrl({
        idToken: grant.secrets['id_token'] ?? null,
        postLogoutRedirectUri: `${originOf(request)}${LOGGED_OUT_PATH}`,
      });
      if (url !== null) return url.href;
    } catch (error) {
      // An unreachable provider does not prevent a logout here.
      if (!(error instanceof LoginProblem)) throw error;
    }
  }
  return null;
}

const MAX_BODY_BYTES = 65_536;

/** OpenID Connect Back-Channel Logout 1.0: the provider reports that a login is over. */
export async function backChannelLogout(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
): Promise<OwnAnswer> {
  const body = await request.readBody(MAX_BODY_BYTES);
  const token = body === null ? null : new URLSearchParams(body.toString()).get('logout_token');
  if (token === null) return refused('the body is not a form with a logout_token');
  const login = moduleOf(token, site);
  if (login === null) return refused('no login of this host has the issuer and audience of the token');
  const { issuer, clientId } = login.config;
  try {
    const verified = await login.client.verifyLogoutToken?.(token);
    if (verified === undefined) return refused('the provider of this login has no back-channel logout');
    const { sub, sid, jti, validUntilMs } = verified;
    // Hashed: the provider chose the text and its length.
    const key = `logout:${hash('sha256', `${issuer}\n${jti}`)}`;
    const ended = await runtime.records.endByProvider({
      issuer,
      clientId,
      identity: sub === null ? null : subjectIdentity(issuer, sub),
      providerSessionId: sid,
      token: { key, validUntilMs },
    });
    if (ended === null) throw new LoginProblem('token', 'logout_token_jti', 'the logout token was used before');
    runtime.count('back_channel_logout');
    runtime.log.info({ request_id: request.id, issuer, ended: ended.length }, 'logged out by the provider');
    return { status: 200, headers: ['cache-control', 'no-store'], body: '' };
  } catch (error) {
    if (!(error instanceof LoginProblem)) throw error;
    runtime.loginFailed(request, login, error);
    // §2.8: status 400 reports that the logout did not happen.
    return refused(error.message);
  }
}

/** Selected by the token's own claims; the module's own keys verify them afterwards. */
function moduleOf(token: string, site: OwnPathSite): LoginOnRoute | null {
  let claims: ReturnType<typeof decodeJwt>;
  try {
    claims = decodeJwt(token);
  } catch {
    return null;
  }
  const audiences = Array.isArray(claims.aud) ? claims.aud : [claims.aud];
  const login = site.modules.find(
    (each) =>
      each instanceof LoginOnRoute && each.config.issuer === claims.iss && audiences.includes(each.config.clientId),
  );
  return login instanceof LoginOnRoute ? login : null;
}

function refused(why: string): OwnAnswer {
  return jsonAnswer(400, { error: 'invalid_request', error_description: why }, [
    'postern-error-code',
    'ERR_POSTERN_LOGOUT_TOKEN',
  ]);
}
