import type { HeaderList } from '../../../lib/http/header-list.ts';
import type { Pass, Verdict } from '../../contract/decides.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import { storeUnavailable } from '../../login/flow/login-failures.ts';
import { GrantPermit } from '../../login/grant-permit.ts';
import type { Grant } from '../../login/sessions/grant.ts';
import type { Recognizer } from '../recognizer.ts';
import type { Guests } from './guests.ts';

const GUEST: Pass = { isPass: true, reason: 'guest' };

/** Recognizes the browsers that redeemed a link of this route. */
export class GuestRecognizer implements Recognizer {
  readonly #guests: Guests;
  readonly #edgeId: string;
  readonly #routeId: string;

  constructor(guests: Guests, place: { readonly edgeId: string; readonly routeId: string }) {
    this.#guests = guests;
    this.#edgeId = place.edgeId;
    this.#routeId = place.routeId;
  }

  identify(request: TrafficRequest): Verdict | null | Promise<Verdict | null> {
    if (!this.#guests.links.hasLinks(this.#routeId)) return null;
    const grants = this.#guests.grantsOf(request, this.#edgeId);
    const verdict = grants instanceof Promise ? this.#admitLate(request, grants) : this.#admit(request, grants);
    if (!(verdict instanceof Promise)) return verdict;
    return verdict.catch((error: unknown) => this.#guests.login.storeUnavailable(request, error).refusal);
  }

  upstreamHeaders(request: TrafficRequest): HeaderList | null {
    const { permit } = request;
    const isGuest = permit instanceof GrantPermit && permit.module === 'access';
    return isGuest ? this.#guests.login.identity.headersFor(permit.grant, request) : null;
  }

  async #admitLate(request: TrafficRequest, grants: Promise<readonly Grant[]>): Promise<Verdict | null> {
    return this.#admit(request, await grants);
  }

  #admit(request: TrafficRequest, grants: readonly Grant[]): Verdict | null | Promise<Verdict | null> {
    const { nowMs } = request;
    const ofRoute = grants.filter(({ clientId }) => this.#guests.links.get(clientId)?.routeId === this.#routeId);
    const grant = ofRoute.find((each) => this.#guests.isHeld(each, nowMs));
    if (grant !== undefined) return this.#admitted(request, grant);
    // The link may have been deleted at another node.
    if (ofRoute.length > 0 && !this.#guests.ports.followed.isCurrent()) return storeUnavailable(request).refusal;
    const arriving = ofRoute.find((each) => this.#guests.isArriving(each, nowMs));
    if (arriving === undefined) return null;
    return this.#guests.ports.followed
      .catchUp()
      .then(() => (this.#guests.isHeld(arriving, nowMs) ? this.#admitted(request, arriving) : null));
  }

  #admitted(request: TrafficRequest, grant: Grant): Pass {
    request.permit = new GrantPermit('access', grant, this.#guests);
    return GUEST;
  }
}
