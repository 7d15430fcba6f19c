import type { HeaderList } from '../../lib/http/header-list.ts';
import type { HeaderChange } from '../contract/changes-requests.ts';
import { isPass, type Pass, type Refusal, type Verdict } from '../contract/decides.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import type { Identity, Permit } from '../contract/recognizes-requesters.ts';
import type { OwnAnswer, OwnPathRequest, OwnPathSite, OwnPaths } from '../contract/serves-paths.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { GUEST_PATH } from '../guest-link-secret.ts';
import type { AccessRuntime, CountedDecision } from './access-runtime.ts';
import { serveGuestPath } from './guests/own-guest-path.ts';
import { firstOf, identifyInTurn, type Recognizer } from './recognizer.ts';
import { accessDenied, LOGIN_NEEDED } from './refusals.ts';
import type { Decision, Evaluate } from './rules.ts';

export interface AccessOnRouteOptions {
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
