import type { PeerMessage } from '../../nodes/links/peer-links.ts';
import { NODE_LEASE_MS } from '../../nodes/membership/membership.ts';
import type { RightToServe } from '../right-to-serve.ts';
import type { ClusterPorts } from './cluster-ports.ts';

type Memberships = ClusterPorts['membership'];

/** The database's time is known only as exactly as its answers travel. */
const MARGIN_MS = 50;

/** What is certainly left of a node's lease. It ends no earlier: `nowMs` is never behind the database. */
export function leaseLeftMs(membership: Pick<Memberships, 'get' | 'nowMs'>, nodeId: string): number {
  const row = membership.get(nodeId);
  return row === undefined ? 0 : Math.max(0, row.leaseEndsAtMs - MARGIN_MS - membership.nowMs());
}

/**
 * The right of this node to serve sessions of another home. The home renews it. It also ends with the home's lease:
 * after that others may have taken the names. This node reads that lease from the store or hears it from the home: it
 * may not have read about a home that has just started. Without the database for everybody, leases say nothing, and the
 * links do.
 */
export class Grant implements RightToServe {
  readonly #homeId: string;
  readonly #membership: Memberships;
  #untilMs = 0;
  #leaseUntilMs = 0;
  /** Before the home was last asked with success. */
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(homeId: string, membership: Memberships) {
    this.#homeId = homeId;
    this.#membership = membership;
  }

  /** Counted from before the home was asked. `lease_ms`: what is left of the home's lease or right, by its own word. */
  extend(askedAtMs: number, { grant_ms: grantMs, lease_ms: leaseMs }: PeerMessage): void {
    if (typeof grantMs !== 'number' || grantMs <= 0) return;
    this.#untilMs = Math.max(this.#untilMs, askedAtMs + grantMs);
    this.#askedAtMs = Math.max(this.#askedAtMs, askedAtMs);
    this.#leaseUntilMs = Math.max(this.#leaseUntilMs, askedAtMs + durationOf(leaseMs));
  }

  /**
   * The home has changed, and the new one counts on it that the old one's word is kept for as long as it was given.
   * `leaseMs`: what was left of the new home's lease when the old one said so, after it was last asked.
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
