import type { HeaderList } from '../../kit/http/header-values.ts';
import {
  type Identity,
  isPass,
  type Pass,
  type Permit,
  type Refusal,
  type TrafficRequest,
  type Verdict,
} from '../contract/decides.ts';
import type {
  HeaderChange,
  OwnAnswer,
  OwnPathRequest,
  OwnPathSite,
  OwnPaths,
  PreparedModule,
} from '../contract/prepared-module.ts';
import { GUEST_PATH } from '../guest-link-records.ts';
import { loginUrl, targetToKeep } from '../login/flow/return-target.ts';
import type { AccessRuntime, CountedDecision } from './access-runtime.ts';
import { serveGuestPath } from './guests/own-guest-path.ts';
import { tokenForbidden } from './programs/programs-on-route.ts';
import { firstOf, identifyInTurn, type Recognizer } from './recognizer.ts';
import type { Decision, Evaluate } from './rules.ts';

const LOGIN_NEEDED: Refusal = {
  status: 403,
  code: 'ERR_POSTERN_ACCESS_LOGIN_NEEDED',
  title: 'There is no login here',
  message:
    'This site lets in programs with a token and guests with a link. It has no login for people. If you need access, contact the operator of this site.',
  reason: 'login_needed',
  accessRule: null,
};

/** For somebody whom the rules do not let in. The rule itself is for the operator: it is in the log. */
function accessDenied(identity: Identity, decision: Decision, request: TrafficRequest): Refusal {
  if (identity.kind === 'service_account' || identity.kind === 'workload') {
    return tokenForbidden(request, identity, decision);
  }
  const { reason, rule } = decision;
  const account = accountName(identity);
  const common = {
    status: 403,
    code: 'ERR_POSTERN_ACCESS_DENIED',
    reason,
    accessRule: rule,
    details: { reason, account, kind: identity.kind },
  } as const;
  if (identity.kind === 'guest') return { ...common, message: `The guest ${account} may not enter here.` };
  return {
    ...common,
    title: 'This account may not enter',
    message: `You are logged in as ${account}. ${ADVICE[reason] ?? ''}Switch to another account, or ask the operator of this site for access.`,
    action: { label: 'Switch account', href: switchUrl(request) },
  };
}

/** The login page, which returns to the requested one: a form that was sent is not repeated. */
function switchUrl({ method, target, path }: TrafficRequest): string {
  return loginUrl(method === 'GET' ? targetToKeep(target, path) : '/', { isSwitch: true });
}

const ADVICE: Partial<Record<Decision['reason'], string>> = {
  email_unverified: 'Your identity provider does not report your email address as verified. Verify it there. ',
};

function accountName({ email, name, id }: Identity): string {
  if (email !== '') return email;
  return name === '' ? id : name;
}

interface AccessOnRouteOptions {
  readonly evaluate: Evaluate;
  readonly isEnforced: boolean;
  /** Asked in order, before the login. */
  readonly recognizers: readonly Recognizer[];
  readonly count: (decision: CountedDecision) => void;
  readonly routeId: string | null;
  /** Null where no traffic is served. */
  readonly runtime: AccessRuntime | null;
}

/** The module on one route, in one version of its configuration. */
export class AccessOnRoute implements PreparedModule {
  readonly identify?: (request: TrafficRequest) => Verdict | Promise<Verdict>;
  readonly transformRequest?: (request: TrafficRequest) => HeaderChange | null;
  readonly #recognizers: readonly Recognizer[];
  readonly ownPaths?: OwnPaths;
  readonly routeId: string | null;
  readonly #evaluate: Evaluate;
  readonly #isEnforced: boolean;
  readonly #count: (decision: CountedDecision) => void;
  /** By identity, which is another object after every change: a request costs one lookup. */
  readonly #decisions = new WeakMap<Identity, Decision>();
  /** The permits of guests by request: the login module may replace them. */
  readonly #guests = new WeakMap<TrafficRequest, Permit>();

  constructor({ evaluate, isEnforced, recognizers, count, routeId, runtime }: AccessOnRouteOptions) {
    this.routeId = routeId;
    if (runtime !== null) this.ownPaths = { serve: (request, site) => serveOwn(runtime, request, site) };
    this.#evaluate = evaluate;
    this.#isEnforced = isEnforced;
    this.#count = count;
    this.#recognizers = recognizers;
    if (recognizers.length > 0) this.identify = (request) => this.#identify(request);
    if (recognizers.some((each) => each.transformRequest !== undefined)) {
      this.transformRequest = (request) => firstOf(recognizers, (each) => each.transformRequest?.(request));
    }
  }

  upstreamHeaders(request: TrafficRequest): HeaderList {
    // The login module tells about the people whom it has admitted.
    if (request.permit?.module !== 'access') return NOBODY;
    return firstOf(this.#recognizers, (each) => each.upstreamHeaders?.(request)) ?? NOBODY;
  }

  judge(request: TrafficRequest): Verdict {
    if (request.isExemptFromLogin) return EXEMPT;
    const { permit } = request;
    // A login module would have refused before: there is none.
    if (permit === null) {
      const refusal = firstOf(this.#recognizers, (each) => each.refusalWithout?.(request)) ?? LOGIN_NEEDED;
      return this.#refused(refusal, refusal.reason, null);
    }
    const { identity } = permit;
    const decision = this.#decide(identity);
    if (decision.allowed) {
      this.#count('allow');
      return ALLOWED;
    }
    const guest = this.#guestBeside(request, permit, decision);
    if (guest !== null) {
      // A rehearsal changes nothing for upstreams.
      if (this.#isEnforced) request.permit = guest;
      this.#count('allow');
      return ALLOWED;
    }
    return this.#isEnforced
      ? this.#refused(accessDenied(identity, decision, request), decision.reason, decision.rule)
      : this.#rehearsed(decision.reason, decision.rule);
  }

  #identify(request: TrafficRequest): Verdict | Promise<Verdict> {
    const verdict = identifyInTurn(this.#recognizers, request);
    return verdict instanceof Promise
      ? verdict.then((late) => this.#identified(request, late))
      : this.#identified(request, verdict);
  }

  #identified(request: TrafficRequest, verdict: Verdict): Verdict {
    const { permit } = request;
    if (permit?.identity.kind === 'guest') this.#guests.set(request, permit);
    // A token that fails is refused before `judge` is asked. An outage decides nothing.
    if (!isPass(verdict) && verdict.status < 500) this.#count('refuse');
    return verdict;
  }

  /**
   * The permit of a guest whom the login module knows as a person too, if the rules let the guest in. Not for somebody
   * whom a rule denies: a link is no way around it.
   */
  #guestBeside(request: TrafficRequest, person: Permit, { reason }: Decision): Permit | null {
    if (reason === 'denied' || person.identity.kind !== 'user') return null;
    const guest = this.#guests.get(request) ?? null;
    return guest?.isHeld(request.nowMs) === true && this.#decide(guest.identity).allowed ? guest : null;
  }

  #decide(identity: Identity): Decision {
    const known = this.#decisions.get(identity);
    if (known !== undefined) return known;
    const decision = this.#evaluate(identity);
    this.#decisions.set(identity, decision);
    return decision;
  }

  #refused(refusal: Refusal, reason: string, rule: string | null): Verdict {
    if (!this.#isEnforced) return this.#rehearsed(reason, rule);
    this.#count('refuse');
    return refusal;
  }

  #rehearsed(reason: string, rule: string | null): Pass {
    this.#count('would_refuse');
    return { isPass: true, reason: 'rehearsed', wouldRefuse: { reason, rule } };
  }
}

/** Paths of the login are served where no login module does it: the keys of assertions, and the logout of guests. */
function serveOwn(runtime: AccessRuntime, request: OwnPathRequest, site: OwnPathSite): OwnAnswer | Promise<OwnAnswer> {
  if (request.path !== GUEST_PATH) return runtime.login.ownPaths.serve(request, site);
  const open = site.modules.flatMap((module) => (module instanceof AccessOnRoute ? [module.routeId ?? ''] : []));
  return serveGuestPath(runtime.guests, request, new Set(open));
}

const ALLOWED: Pass = { isPass: true, reason: 'allowed' };
const NOBODY: HeaderList = [];
const EXEMPT: Pass = { isPass: true, reason: 'options_passthrough' };
