import { cookieValues } from '../../kit/http/cookie-header.ts';
import { bearerCredentials } from '../../kit/http/header-values.ts';
import {
  type AssumedPerson,
  type Identity,
  isPass,
  type Pass,
  type Permit,
  type Refusal,
  type TrafficRequest,
  type Verdict,
} from '../contract/decides.ts';
import type { OwnPaths, PreparedModule } from '../contract/prepared-module.ts';
import { loginUrl, originOf, targetToKeep } from './flow/return-target.ts';
import { assumedClaims, assumedGrant, type GrantKeeper, GrantPermit } from './grant-permit.ts';
import type { LoginClient, LoginParameters } from './login-client.ts';
import type { LoginRuntime } from './login-runtime.ts';
import { type CookieNames, clearSessionCookies, cookieNames } from './session-cookie.ts';
import { findGrant, type Grant, type Session, type SessionLimits } from './sessions/grant.ts';
import type { IdentityProvider } from './sessions/record-session.ts';

/** Redirects people to the login and tells programs where it is. */
function loginRequired(
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

export interface LoginConfig {
  /** Name of the module. */
  readonly module: string;
  readonly edgeId: string;
  readonly routeId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly identityProvider: IdentityProvider;
  readonly scopes: readonly string[];
  /** See LearningClient. */
  readonly scopesFor: (claim: string) => readonly string[];
  readonly cookiePrefix: string;
  readonly limits: SessionLimits;
  /** What each login asks of the provider; null: nothing special. */
  readonly parameters: LoginParameters | null;
  readonly passesOptions: boolean;
  /** Seconds after which the provider is asked again, 0: never; null: when the access token expires. */
  readonly recheckSeconds: number | null;
  /** The module's own rules about users; null: everybody who logs in may enter. */
  readonly admits: ((user: Identity) => Refusal | null) | null;
}

/** A login module on one route, in one version of its configuration. */
export class LoginOnRoute implements PreparedModule, GrantKeeper {
  readonly config: LoginConfig;
  readonly client: LoginClient;
  readonly cookieNames: CookieNames;
  readonly ownCookieNames: readonly string[];
  readonly ownPaths: OwnPaths;
  readonly #runtime: LoginRuntime;

  constructor(runtime: LoginRuntime, config: LoginConfig, client: LoginClient) {
    this.#runtime = runtime;
    this.config = config;
    this.client = client;
    this.cookieNames = cookieNames(config.cookiePrefix);
    this.ownCookieNames = Object.values(this.cookieNames).map((name) => name.toLowerCase());
    this.ownPaths = runtime.ownPaths;
  }

  judge(request: TrafficRequest): Verdict | Promise<Verdict> {
    const { permit } = request;
    // Recognized by a token: a login would be that of somebody else. A permit of a person is a login's, perhaps of an
    // earlier configuration, and proves nothing here.
    if (permit !== null && permit.identity.kind !== 'user') {
      return permit.identity.kind === 'guest' ? this.#loginOfGuest(request, permit) : RECOGNIZED;
    }
    // No identity is attached: the permit stays empty.
    if (request.method === 'OPTIONS' && this.config.passesOptions) {
      request.isExemptFromLogin = true;
      return OPTIONS_PASS;
    }
    const session = this.#runtime.sessions.find(request.headerLines('cookie'), this.cookieNames);
    const verdict =
      session instanceof Promise
        ? session.then((late) => this.#judgeSession(request, late))
        : this.#judgeSession(request, session);
    if (!(verdict instanceof Promise)) return verdict;
    return verdict.catch((error: unknown) => this.#runtime.storeUnavailable(request, error).refusal);
  }

  /** Nothing is stored: the login exists for this request alone. */
  assume(request: TrafficRequest, person: AssumedPerson): Verdict | Promise<Verdict> {
    const { permit } = request;
    const isRecognized = permit !== null && permit.identity.kind !== 'user';
    if (isRecognized || (request.method === 'OPTIONS' && this.config.passesOptions)) return this.judge(request);
    const { claims, text } = assumedClaims(person, this.config);
    const verdict = this.#admit(request, assumedGrant(request, claims, this.config));
    return isPass(verdict) ? { ...verdict, text } : verdict;
  }

  upstreamHeaders(request: TrafficRequest): readonly string[] {
    const { permit } = request;
    const isOwn = permit instanceof GrantPermit && permit.module === this.config.module;
    return isOwn ? this.#runtime.identity.headersFor(permit.grant, request) : NO_IDENTITY;
  }

  /** Whether these cookies prove that somebody has logged in with this browser, however long ago. */
  provesLogin(cookieLines: readonly string[]): boolean {
    return this.#runtime.cookies.find(cookieLines, this.cookieNames) !== null;
  }

  /** This browser's login that is currently valid on this route, if any. */
  async loginOf(request: TrafficRequest): Promise<Grant | null> {
    const session = await this.#runtime.sessions.find(request.headerLines('cookie'), this.cookieNames);
    const grant = findGrant(session, { ...this.config, host: request.host });
    if (grant !== null && this.#isIdleHere(grant, request.nowMs)) await this.#lookElsewhere(grant, request.nowMs);
    return grant?.meets(this.config.parameters) === true && this.isInForce(grant, request.nowMs) ? grant : null;
  }

  isInForce(grant: Grant, nowMs: number): boolean {
    if (grant.isEnded || !grant.followPerson()) return false;
    return grant.isWithin(this.config.limits, nowMs) && grant.covers(this.config.scopes);
  }

  used(grant: Grant, nowMs: number): void {
    this.#runtime.activity.used(grant, this.config.limits, nowMs);
    // A stream has no next request to trigger it: its login must not outlive its end at the provider by days.
    if (grant.needsRefresh(nowMs, this.config.recheckSeconds)) this.#runtime.refreshMeanwhile(grant, this.client);
  }

  isHeld(grant: Grant, nowMs: number): boolean {
    if (this.config.admits !== null && this.config.admits(grant.holder) !== null) return false;
    return this.isInForce(grant, nowMs) || this.#isHeldElsewhere(grant, nowMs);
  }

  /** A stream's login is not valid here. True while other processes are being asked whether it is valid there. */
  #isHeldElsewhere(grant: Grant, nowMs: number): boolean {
    if (grant.isEnded) return false;
    if (!this.#isIdleHere(grant, nowMs)) {
      this.#ended(grant);
      return false;
    }
    const endIfIdle = (): void => {
      if (!grant.isEnded && !this.isInForce(grant, nowMs)) this.#ended(grant);
    };
    this.#lookElsewhere(grant, nowMs).then(endIfIdle, endIfIdle);
    return true;
  }

  /** The login is only idle, and other processes may have seen it used. */
  #isIdleHere(grant: Grant, nowMs: number): boolean {
    const { limits, scopes } = this.config;
    if (!this.#runtime.records.isShared || grant.isEnded || grant.isWithin(limits, nowMs)) return false;
    return grant.isWithin({ ...limits, inactivitySeconds: 0 }, nowMs) && grant.covers(scopes);
  }

  /** Threads first: they answer without the database. */
  async #lookElsewhere(grant: Grant, nowMs: number): Promise<void> {
    await this.#runtime.lastUseInThreads(grant);
    if (this.#isIdleHere(grant, nowMs)) await this.#runtime.lastUseAnywhere(grant);
  }

  /** An expired login is over permanently, even if the limits are raised later. */
  #ended(grant: Grant): void {
    this.#runtime.end(grant);
  }

  /**
   * A guest who is logged in here too passes as that person, so that nobody loses the rules about people by opening a
   * link. Without a valid login they stay the guest.
   */
  #loginOfGuest(request: TrafficRequest, guest: Permit): Verdict | Promise<Verdict> {
    const judged = (session: Session | null): Verdict | Promise<Verdict> => {
      if (this.#grantIn(session, request) === null) return RECOGNIZED;
      const verdict = this.#judgeSession(request, session);
      return verdict instanceof Promise ? verdict.then(orGuest) : orGuest(verdict);
    };
    const orGuest = (verdict: Verdict): Verdict => {
      if (isPass(verdict)) return verdict;
      request.permit = guest;
      return RECOGNIZED;
    };
    const session = this.#runtime.sessions.find(request.headerLines('cookie'), this.cookieNames);
    const verdict = session instanceof Promise ? session.then(judged) : judged(session);
    if (!(verdict instanceof Promise)) return verdict;
    return verdict.catch((error: unknown) => this.#runtime.storeUnavailable(request, error).refusal);
  }

  #grantIn(session: Session | null, { host }: TrafficRequest): Grant | null {
    const { edgeId, issuer, clientId } = this.config;
    return findGrant(session, { edgeId, host, issuer, clientId });
  }

  #judgeSession(request: TrafficRequest, session: Session | null): Verdict | Promise<Verdict> {
    const grant = this.#grantIn(session, request);
    if (grant === null) return loginRequired(request, this, { reason: 'no_session', isKeyStale: session === null });
    if (this.#isIdleHere(grant, request.nowMs)) {
      return this.#lookElsewhere(grant, request.nowMs).then(() => this.#judgeGrant(request, grant));
    }
    return this.#judgeGrant(request, grant);
  }

  #judgeGrant(request: TrafficRequest, grant: Grant): Verdict | Promise<Verdict> {
    if (!this.isInForce(grant, request.nowMs)) {
      if (!grant.isEnded) this.#ended(grant);
      return loginRequired(request, this, SESSION_OVER);
    }
    // The login is valid on other routes, which ask for less: it stays until the next login replaces it.
    if (!grant.meets(this.config.parameters)) return loginRequired(request, this, LOGIN_AGAIN);
    if (grant.needsRefresh(request.nowMs, this.config.recheckSeconds)) return this.#refreshed(request, grant);
    return this.#admit(request, grant);
  }

  #admit(request: TrafficRequest, grant: Grant): Verdict {
    request.permit = new GrantPermit(this.config.module, grant, this);
    return this.config.admits?.(grant.holder) ?? LOGGED_IN;
  }

  async #refreshed(request: TrafficRequest, grant: Grant): Promise<Verdict> {
    const isInForce = await this.#runtime.refresh.refresh(grant, this.client);
    if (!isInForce || grant.isEnded) return loginRequired(request, this, SESSION_OVER);
    return this.#admit(request, grant);
  }
}

/** See `Module.reasons`. */
export const LOGIN_REASONS = {
  logged_in: 'The person is logged in.',
  recognized: 'A token or a guest link identifies the requester, so no login is needed.',
  options_passthrough: 'OPTIONS requests need no login here.',
};

const LOGGED_IN: Pass = { isPass: true, reason: 'logged_in' };
const RECOGNIZED: Pass = { isPass: true, reason: 'recognized' };
const OPTIONS_PASS: Pass = { isPass: true, reason: 'options_passthrough' };
const NO_IDENTITY: readonly string[] = [];

/** The key stays: logins of other routes may depend on it, and the next login replaces it. */
const SESSION_OVER = { reason: 'session_over', isKeyStale: false } as const;
const LOGIN_AGAIN = { reason: 'parameters', isKeyStale: false } as const;
