import type { PeerMessage } from '../../nodes/links/peer-links.ts';
import { NODE_LEASE_MS } from '../../nodes/membership/membership.ts';
import type { RightToServe } from '../agent-session.ts';
import type { ClusterPorts } from '../ports.ts';

type Memberships = ClusterPorts['membership'];

/** The database's time is known only as exactly as its answers travel. */
const MARGIN_MS = 50;

/** The rest of a node's lease. The lease certainly lasts that long: `nowMs` is never behind the database. */
export function leaseLeftMs(membership: Pick<Memberships, 'get' | 'nowMs'>, nodeId: string): number {
  const row = membership.get(nodeId);
  return row === undefined ? 0 : Math.max(0, row.leaseEndsAtMs - MARGIN_MS - membership.nowMs());
}

/**
 * The right of this node to serve sessions of another home. The home renews the right. The right also ends with the
 * home's lease: after that, other nodes may have taken the names. This node reads the lease from the store or hears it
 * from the home: the last reading may not contain a home that has just started. While no node has the database, leases
 * say nothing, and the links decide.
 */
export class Grant implements RightToServe {
  readonly #homeId: string;
  readonly #membership: Memberships;
  #untilMs = 0;
  #leaseUntilMs = 0;
  /** The time just before the last question that the home answered. */
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(homeId: string, membership: Memberships) {
    this.#homeId = homeId;
    this.#membership = membership;
  }

  /** Times count from before the question. `lease_ms`: the rest of the home's lease or right, as the home says. */
  extend(askedAtMs: number, { grant_ms: grantMs, lease_ms: leaseMs }: PeerMessage): void {
    if (typeof grantMs !== 'number' || grantMs <= 0) return;
    this.#untilMs = Math.max(this.#untilMs, askedAtMs + grantMs);
    this.#askedAtMs = Math.max(this.#askedAtMs, askedAtMs);
    this.#leaseUntilMs = Math.max(this.#leaseUntilMs, askedAtMs + durationOf(leaseMs));
  }

  /**
   * The session has a new home, which assumes that a grant of the old home is valid for its whole time. `leaseMs`: the
   * rest of the new home's lease, which the old home reported after this node last asked.
   */
  inherit(from: Grant, leaseMs: unknown): void {
    this.#untilMs = Math.max(this.#untilMs, from.#untilMs);
    this.#leaseUntilMs = Math.max(this.#leaseUntilMs, from.#askedAtMs + durationOf(leaseMs));
  }

  mayServe(): boolean {
    const nowMs = performance.now();
    if (nowMs >= this.#untilMs || !this.#membership.mayServe()) return false;
    if (nowMs < this.#leaseUntilMs) return true;
    return this.#hasLease(this.#homeId) || !this.#hasLease(this.#membership.self.id);
  }

  #hasLease(nodeId: string): boolean {
    return leaseLeftMs(this.#membership, nodeId) > 0;
  }
}

function durationOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(value, NODE_LEASE_MS) : 0;
}
