import type { BegunAttempt } from '../../contract/attempt-budgets.ts';
import type { OwnAnswer, OwnPathRequest, OwnPathSite, OwnPaths } from '../../contract/prepared-module.ts';
import {
  askedFor,
  type Flow,
  flowEndsAtMs,
  isFlowExpired,
  isLoop,
  recentLogins,
  roundOf,
  trailCookie,
} from '../flow-cookies.ts';
import type { LoginTokens } from '../login-client.ts';
import { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { jsonAnswer, loginPage, redirect } from '../pages.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import { clearSessionCookies, setSessionCookies } from '../session-cookie.ts';
import { recordLogin } from '../sessions/record-session.ts';
import { type Attempt, widestNetworkOf } from './login-attempts.ts';
import { failed, failedAtProvider, tooManyAttempts } from './login-failures.ts';
import { backChannelLogout, LOGGED_OUT_PATH, loggedOut, logOut } from './logout.ts';
import { LOGIN_PATH, loginUrl, originOf, safeFragment, safeTarget } from './return-target.ts';

export const CALLBACK_PATH = '/.postern/callback';

/** `/.postern/login?to=…`: a page that picks up the fragment, then, with `go`, the redirect to the provider. */
async function startLogin(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
  query: URLSearchParams,
): Promise<OwnAnswer> {
  const target = safeTarget(query.get('to'));
  const round = Number(/^\d$/.exec(query.get('round') ?? '')?.[0] ?? 0);
  const isSwitch = query.get('switch') === '1';
  if (query.get('go') !== '1') return loginPage(loginUrl(target, { go: true, round, isSwitch }));
  const route = site.moduleFor(target);
  if ('refusal' in route) return route;
  const login = route.found;
  const returnTo = `${target}${safeFragment(query.get('fragment'), target)}`;
  // No login is required, or it is already done, perhaps in another tab.
  if (!(login instanceof LoginOnRoute) || (!isSwitch && (await login.loginOf(request)) !== null)) {
    return redirect(`${originOf(request)}${returnTo}`);
  }
  if (isLoop(recentLogins(request.headerLines('cookie'), request.nowMs))) {
    runtime.count('loop');
    return failed(
      'ERR_POSTERN_LOGIN_LOOP',
      'loop',
      'You have logged in several times within a minute, and each session ended immediately. Either your browser rejects the session cookie of this site (allow cookies and try again), or sessions expire too soon (maximum_duration, inactivity_timeout), or a clock is wrong. Wait a minute before you try again.',
      { tryAgain: target },
    );
  }
  return toProvider(runtime, request, login, { target, returnTo, round, isSwitch });
}

interface LoginAttempt {
  readonly target: string;
  readonly returnTo: string;
  readonly round: number;
  readonly isSwitch: boolean;
}

async function toProvider(
  runtime: LoginRuntime,
  request: OwnPathRequest,
  login: LoginOnRoute,
  { target, returnTo, round, isSwitch }: LoginAttempt,
): Promise<OwnAnswer> {
  const { config, client } = login;
  const flow: Flow = {
    state: runtime.flows.newState(round),
    nonce: runtime.randomText(32),
    codeVerifier: runtime.randomText(32),
    returnTo,
    routeId: config.routeId,
    host: request.host,
    askedFor: askedFor(config),
    redirectUri: `${originOf(request)}${CALLBACK_PATH}`,
    startedAtMs: request.nowMs,
    startedIn: widestNetworkOf(request.clientAddress),
  };
  try {
    const url = await client.authorizationUrl({ ...flow, isSwitch });
    runtime.count('started');
    return redirect(url.href, runtime.flows.start(request.headerLines('cookie'), flow));
  } catch (error) {
    if (!(error instanceof LoginProblem)) throw error;
    runtime.loginFailed(request, login, error);
    return failedAtProvider(error, target);
  }
}

/** After this many attempts the cause is shown instead of trying again. */
const MAX_ROUNDS = 2;

/** `/.postern/callback`: the browser returns from the provider. */
async function finishLogin(
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

type Serve = (
  runtime: LoginRuntime,
  request: OwnPathRequest,
  site: OwnPathSite,
  query: URLSearchParams,
) => OwnAnswer | Promise<OwnAnswer>;

/** `<method> <path>` → handler. HEAD is handled like GET. */
const SERVED: Readonly<Record<string, Serve>> = {
  [`GET ${LOGIN_PATH}`]: startLogin,
  [`GET ${CALLBACK_PATH}`]: finishLogin,
  'GET /.postern/logout': logOut,
  'POST /.postern/logout': logOut,
  [`GET ${LOGGED_OUT_PATH}`]: loggedOut,
  'POST /.postern/backchannel-logout': backChannelLogout,
  'GET /.postern/jwks.json': (runtime) =>
    jsonAnswer(200, runtime.signer.publicKeys(), ['access-control-allow-origin', '*']),
};

export const LOGIN_PATHS: readonly string[] = [
  ...new Set(Object.keys(SERVED).map((served) => served.slice(served.indexOf('/')))),
];

export class OwnLoginPaths implements OwnPaths {
  readonly #runtime: LoginRuntime;

  constructor(runtime: LoginRuntime) {
    this.#runtime = runtime;
  }

  serve(request: OwnPathRequest, site: OwnPathSite): OwnAnswer | Promise<OwnAnswer> {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const serve = Object.hasOwn(SERVED, `${method} ${request.path}`) ? SERVED[`${method} ${request.path}`] : undefined;
    if (serve === undefined) {
      return failed(
        'ERR_POSTERN_NO_OWN_PATH',
        'no_own_path',
        'This page does not exist. Paths under /.postern/ are reserved for the login of this site.',
      );
    }
    const at = request.target.indexOf('?');
    const query = new URLSearchParams(at === -1 ? '' : request.target.slice(at + 1));
    const answer = serve(this.#runtime, request, site, query);
    return answer instanceof Promise
      ? answer.catch((error: unknown) => this.#runtime.storeUnavailable(request, error))
      : answer;
  }
}
