import type { OwnAnswer, OwnPathRequest, OwnPathSite } from '../../contract/serves-paths.ts';
import { askedFor, type Flow } from '../cookies/flow-cookies.ts';
import { isLoop, recentLogins } from '../cookies/trail-cookie.ts';
import { LoginOnRoute } from '../login-on-route.ts';
import type { LoginRuntime } from '../login-runtime.ts';
import { loginPage } from '../pages/login-page.ts';
import { redirect } from '../pages/page.ts';
import { LoginProblem } from '../provider/login-problem.ts';
import { widestNetworkOf } from './client-networks.ts';
import { failed, failedAtProvider } from './login-failures.ts';
import { loginUrl, originOf, safeFragment, safeTarget } from './return-target.ts';

export const CALLBACK_PATH = '/.postern/callback';

/** `/.postern/login?to=…`: a page that picks up the fragment, then, with `go`, the redirect to the provider. */
export async function startLogin(
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
