import type { OwnAnswer, OwnPathRequest, OwnPathSite } from '../../contract/serves-paths.ts';
import { askedFor, type Flow, flowEndsAtMs, isFlowExpired, roundOf } from '../cookies/flow-cookies.ts';
import { clearSessionCookies, setSessionCookies } from '../cookies/session-cookie.ts';
import { recentLogins, trailCookie } from '../cookies/trail-cookie.ts';
import type { LoginTokens } from '../login-client.ts';
import { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { redirect } from '../pages/page.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import { recordLogin } from '../sessions/record-login.ts';
import type { BegunAttempt } from './attempt-budgets.ts';
import type { Attempt } from './login-attempts.ts';
import { failed, failedAtProvider, tooManyAttempts } from './login-failures.ts';
import { loginUrl, originOf } from './return-target.ts';

/** After this many attempts the cause is shown instead of trying again. */
const MAX_ROUNDS = 2;

/** `/.postern/callback`: the browser returns from the provider. */
export async function finishLogin(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
  query: URLSearchParams,
): Promise<OwnAnswer> {
  const state = query.get('state') ?? '';
  const flow = runtime.flows.find(request.headerLines('cookie'), state);
  if (flow === null || flow.host !== request.host) return withoutFlow(runtime, request, site, state);
  const login = loginOf(flow, site);
  const cleared = [runtime.flows.clear(state)];
  const target = withoutFragment(flow.returnTo);
  const round = roundOf(state);
  // The route now requires another login, or the way there took too long: starts over.
  if (login === null || isFlowExpired(flow, request.nowMs)) {
    if (round >= MAX_ROUNDS) return tooLate(target, cleared);
    runtime.count('restarted');
    return restart(request, target, round + 1, cleared);
  }
  const callback = {
    callbackUrl: new URL(`${flow.redirectUri}?${query.toString()}`),
    redirectUri: flow.redirectUri,
    state: flow.state,
    nonce: flow.nonce,
    codeVerifier: flow.codeVerifier,
  };
  try {
    await login.client.checkCallback(callback);
    const attempt = await beginAttempt(runtime, request, login, flow);
    if (attempt === null) return await usedBefore(runtime, request, login, flow);
    if ('limit' in attempt) return tooManyAttempts(attempt, request.target);
    const tokens = await redeemed(attempt, () => login.client.exchange(callback));
    const key = await recordLogin(runtime, request, login, tokens, flow.nonce);
    const logins = [...recentLogins(request.headerLines('cookie'), request.nowMs), request.nowMs];
    runtime.count('succeeded');
    return redirect(`${originOf(request)}${flow.returnTo}`, [
      ...setSessionCookies(login.cookieNames, key, login.config.limits.maximumSeconds),
      ...cleared,
      trailCookie(logins),
    ]);
  } catch (error) {
    if (!(error instanceof LoginProblem)) throw error;
    // A second use of the same response (the back button, a reload) does not affect a logged-in user.
    if ((await login.loginOf(request)) !== null) return redirect(`${originOf(request)}${flow.returnTo}`, cleared);
    runtime.loginFailed(request, login, error);
    if (error.kind === 'invalid_grant' && round < MAX_ROUNDS) return restart(request, target, round + 1, cleared);
    return failedAtProvider(error, target, cleared);
  }
}

async function beginAttempt(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  { config, cookieNames }: LoginOnRoute,
  flow: Flow,
): Promise<BegunAttempt | null> {
  const attempt = await runtime.attempts.redeem(
    {
      issuer: config.issuer,
      clientAddress: request.clientAddress,
      startedIn: flow.startedIn,
      browser: runtime.cookies.find(request.headerLines('cookie'), cookieNames)?.keyHash ?? null,
    },
    { state: flow.state, endsAtMs: flowEndsAtMs(flow) },
  );
  if (attempt !== null && 'limit' in attempt) {
    if (attempt.limit === 'address') runtime.count('limited_address');
    else runtime.count('limited_issuer');
  }
  return attempt;
}

async function redeemed(attempt: Attempt, exchange: () => Promise<LoginTokens>): Promise<LoginTokens> {
  try {
    const tokens = await exchange();
    attempt.succeeded();
    return tokens;
  } catch (error) {
    attempt.failed();
    throw error;
  }
}

/**
 * A reload, the back button, or the same callback twice at once: continues to the page if the login exists, otherwise
 * starts again.
 */
async function usedBefore(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  login: LoginOnRoute,
  flow: Flow,
): Promise<OwnAnswer> {
  const cleared = [runtime.flows.clear(flow.state)];
  if ((await login.loginOf(request)) !== null) return redirect(`${originOf(request)}${flow.returnTo}`, cleared);
  runtime.count('replayed');
  const target = withoutFragment(flow.returnTo);
  const round = roundOf(flow.state);
  if (round < MAX_ROUNDS) return restart(request, target, round + 1, cleared);
  return failed(
    'ERR_POSTERN_LOGIN_FAILED',
    'state_used',
    'This callback from the identity provider was already used several times. Start the login again.',
    { tryAgain: target, cookies: cleared },
  );
}

/** The browser did not start this login, or does not prove it: it never ends in a session, and never in a dead end. */
async function withoutFlow(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
  state: string,
): Promise<OwnAnswer> {
  for (const login of site.modules) {
    if (login instanceof LoginOnRoute && (await login.loginOf(request)) !== null)
      return redirect(`${originOf(request)}/`);
  }
  const round = roundOf(state);
  if (round < MAX_ROUNDS) {
    runtime.count('restarted');
    return restart(request, '/', round + 1, []);
  }
  runtime.count('cookies_refused');
  return failed(
    'ERR_POSTERN_LOGIN_COOKIES',
    'cookies_refused',
    'Your browser does not send the cookie that the login requires. Allow cookies for this site, finish the login in the browser window where you started it, and try again.',
    { tryAgain: '/', cookies: clearedSessions(site) },
  );
}

/** Repeatedly too late: servers with different clocks would redirect the browser in circles. */
function tooLate(target: string, cookies: readonly string[]): OwnAnswer {
  return failed(
    'ERR_POSTERN_LOGIN_FAILED',
    'flow_expired',
    'The login took too long, or its settings changed in the meantime, several times in a row. Try again. If the problem persists, contact the operator of this site: the clocks of its servers may differ.',
    { tryAgain: target, cookies },
  );
}

function clearedSessions(site: OwnPathSite): readonly string[] {
  return site.modules.flatMap((login) => (login instanceof LoginOnRoute ? clearSessionCookies(login.cookieNames) : []));
}

function restart(request: OwnPathRequest, target: string, round: number, cookies: readonly string[]): OwnAnswer {
  return redirect(`${originOf(request)}${loginUrl(target, { go: true, round })}`, cookies);
}

/** The module that started the flow, if it still requires the same login. */
function loginOf(flow: Flow, site: OwnPathSite): LoginOnRoute | null {
  for (const login of site.modules) {
    if (!(login instanceof LoginOnRoute) || login.config.routeId !== flow.routeId) continue;
    return askedFor(login.config) === flow.askedFor ? login : null;
  }
  return null;
}

function withoutFragment(returnTo: string): string {
  const at = returnTo.indexOf('#');
  return at === -1 ? returnTo : returnTo.slice(0, at);
}
