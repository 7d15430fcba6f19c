import { KeyedMutex } from '../../../lib/async/keyed-mutex.ts';
import type { RuntimePorts } from '../../contract/keeps-state.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import { guestSecrets } from '../../guest-link-secret.ts';
import { GUEST_LINK_USE_KIND, guestLinkUseId } from '../../guest-link-use.ts';
import { type CookieNames, cookieNames } from '../../login/cookies/session-cookie.ts';
import type { GrantKeeper } from '../../login/grant-permit.ts';
import { GUEST_ISSUER } from '../../login/guest-issuer.ts';
import type { LoginRuntime } from '../../login/login-runtime.ts';
import type { Grant, SessionLimits } from '../../login/sessions/grant.ts';
import type { GuestLink } from './guest-link.ts';
import { LinkDirectory } from './link-directory.ts';

type GuestPorts = Pick<RuntimePorts, 'followed' | 'mac' | 'log'>;

/**
 * Guests of all routes. A guest is a browser that redeemed a link: it has a login of its own, and a record below the link
 * counts it. Both must exist: a login that was stored just before the process died, and not counted, opens nothing.
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
