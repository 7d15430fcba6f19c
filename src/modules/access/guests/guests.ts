import { KeyedMutex } from '../../../kit/async/turns.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { readOrNull } from '../../../kit/read-or-null.ts';
import { hashToken } from '../../../kit/text/secrets.ts';
import type { Pass, TrafficRequest, Verdict } from '../../contract/decides.ts';
import type { FollowedRecord, FollowedRecords, RuntimePorts } from '../../contract/keeps-state.ts';
import { GUEST_LINK_USE_KIND, guestLinkUseId, guestSecrets } from '../../guest-link-records.ts';
import { storeUnavailable } from '../../login/flow/login-failures.ts';
import { type GrantKeeper, GrantPermit } from '../../login/grant-permit.ts';
import type { LoginRuntime } from '../../login/login-runtime.ts';
import { type CookieNames, cookieNames } from '../../login/session-cookie.ts';
import { type Grant, GUEST_ISSUER, type SessionLimits } from '../../login/sessions/grant.ts';
import type { Recognizer } from '../recognizer.ts';

export const GUEST_LINK_KIND = 'guest_link';

/** A guest link as traffic needs it. */
export interface GuestLink {
  readonly id: string;
  readonly edgeId: string;
  readonly routeId: string;
  readonly host: string;
  readonly expiresAtMs: number;
  readonly maxBrowsers: number;
  readonly secretHash: string;
  readonly record: FollowedRecord;
}

export function guestLinkOf(record: FollowedRecord): GuestLink {
  const { id, doc } = record;
  return {
    id,
    edgeId: doc['edge_id'] as string,
    routeId: doc['route_id'] as string,
    host: doc['host'] as string,
    expiresAtMs: Date.parse(doc['expires_at'] as string),
    maxBrowsers: doc['max_browsers'] as number,
    secretHash: (doc['internal'] as { readonly secret_hash: string }).secret_hash,
    record,
  };
}

/** All guest links in memory, by id and by secret: it follows their records. */
class LinkDirectory {
  readonly #byId = new Map<string, GuestLink>();
  readonly #byHash = new Map<string, GuestLink>();
  /** Links by route: a route without any costs a request nothing. */
  readonly #perRoute = new Map<string, number>();
  readonly #stop: () => void;

  /** `onGone` is called after the link of an edge was deleted. */
  constructor(followed: FollowedRecords, onGone: (edgeId: string) => void) {
    for (const record of followed.all(GUEST_LINK_KIND)) this.#read(record);
    this.#stop = followed.onChange((changed) => {
      for (const { kind, id } of changed) {
        if (kind !== GUEST_LINK_KIND) continue;
        const before = this.#remove(id);
        const record = followed.get(kind, id);
        if (record !== undefined) this.#read(record);
        else if (before !== undefined) onGone(before.edgeId);
      }
    });
  }

  get(id: string): GuestLink | undefined {
    return this.#byId.get(id);
  }

  find(secret: string): GuestLink | undefined {
    return this.#byHash.get(hashToken(secret));
  }

  hasLinks(routeId: string): boolean {
    return this.#perRoute.has(routeId);
  }

  idsOn(edgeId: string): readonly string[] {
    return [...this.#byId.values()].filter((link) => link.edgeId === edgeId).map(({ id }) => id);
  }

  close(): void {
    this.#stop();
  }

  #read(record: FollowedRecord): void {
    const link = readOrNull(() => guestLinkOf(record));
    if (link !== null) this.#add(link);
  }

  #add(link: GuestLink): void {
    this.#byId.set(link.id, link);
    this.#byHash.set(link.secretHash, link);
    this.#perRoute.set(link.routeId, (this.#perRoute.get(link.routeId) ?? 0) + 1);
  }

  #remove(id: string): GuestLink | undefined {
    const link = this.#byId.get(id);
    if (link === undefined) return undefined;
    this.#byId.delete(id);
    this.#byHash.delete(link.secretHash);
    const left = (this.#perRoute.get(link.routeId) ?? 1) - 1;
    if (left === 0) this.#perRoute.delete(link.routeId);
    else this.#perRoute.set(link.routeId, left);
    return link;
  }
}

type GuestPorts = Pick<RuntimePorts, 'followed' | 'mac' | 'log'>;

/**
 * Guests of all routes. A guest is a browser that redeemed a link: it has a login of its own, and a record below the
 * link counts it. Both must exist: a login that was stored just before the process died, and not counted, opens
 * nothing.
 */
export class Guests implements GrantKeeper {
  readonly login: LoginRuntime;
  readonly links: LinkDirectory;
  readonly ports: GuestPorts;
  /** One redemption at a time per link in this process, so that only other processes cause retries. */
  readonly redeeming = new KeyedMutex();
  /** The same names on every host: the cookie_prefix belongs to login modules. */
  readonly cookieNames: CookieNames = cookieNames('');
  readonly #countedAs = new WeakMap<Grant, string>();

  constructor(ports: GuestPorts, login: LoginRuntime) {
    this.ports = ports;
    this.login = login;
    this.links = new LinkDirectory(ports.followed, (edgeId) => login.edgeChanged(edgeId));
    login.keepClients((edgeId) => this.links.idsOn(edgeId).map((clientId) => ({ issuer: GUEST_ISSUER, clientId })));
  }

  close(): void {
    this.links.close();
  }

  isGenuine(secret: string): boolean {
    return guestSecrets.isGenuine(secret, (purpose, data) => this.ports.mac(purpose, data));
  }

  /** The logins of this browser by links, on this host. */
  grantsOf(request: TrafficRequest, edgeId: string): readonly Grant[] | Promise<readonly Grant[]> {
    return this.login.grantsOf(request, { edgeId, issuer: GUEST_ISSUER }, this.cookieNames);
  }

  /** Whether the login still admits: its link exists and has not expired, and it was counted. */
  isHeld(grant: Grant, nowMs: number): boolean {
    const link = this.links.get(grant.clientId);
    if (link === undefined || grant.isEnded || nowMs >= link.expiresAtMs || !this.ports.followed.isCurrent())
      return false;
    return link.host === grant.host && link.edgeId === grant.edgeId && this.#isCounted(grant, link);
  }

  /** Another process stored it a moment ago, and its count may not have arrived here yet. */
  isArriving(grant: Grant, nowMs: number): boolean {
    return !grant.isEnded && Math.abs(nowMs - grant.createdMs) < ARRIVAL_MS && !this.isHeld(grant, nowMs);
  }

  used(grant: Grant, nowMs: number): void {
    const link = this.links.get(grant.clientId);
    if (link !== undefined) this.login.activity.used(grant, limitsOf(link, grant.createdMs), nowMs);
  }

  #isCounted(grant: Grant, link: GuestLink): boolean {
    const known = this.#countedAs.get(grant);
    if (known !== undefined) return this.#sessionOf(known) === grant.id;
    for (let browser = 1; browser <= MAX_BROWSERS; browser += 1) {
      const useId = guestLinkUseId(link.id, browser);
      const session = this.#sessionOf(useId);
      if (session === undefined) return false;
      if (session !== grant.id) continue;
      this.#countedAs.set(grant, useId);
      return true;
    }
    return false;
  }

  #sessionOf(useId: string): string | undefined {
    return this.ports.followed.get(GUEST_LINK_USE_KIND, useId)?.doc['session'] as string | undefined;
  }
}

/** A notification from the store takes milliseconds, and a lost one is made up for by a poll. */
const ARRIVAL_MS = 10_000;
/** As many as a link can have: it may have been lowered since. */
const MAX_BROWSERS = 1000;

/** A guest's login lasts as long as the link, which may be extended later. */
export function limitsOf(link: GuestLink, createdMs: number): SessionLimits {
  const seconds = Math.ceil((link.expiresAtMs - createdMs) / 1000);
  return { inactivitySeconds: 0, maximumSeconds: Math.max(seconds, 1) };
}

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
