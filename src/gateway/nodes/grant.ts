import type { RightToServe } from '../right-to-serve.ts';
import type { ClusterPorts } from './cluster-ports.ts';

/** The database's time is known only as exactly as its answers travel. */
const MARGIN_MS = 50;

/**
 * The right of this node to serve sessions of another home. The home renews it. It also ends with the home's lease:
 * after that others may have taken the names. Without the database for everybody, leases say nothing, and the links do.
 */
export class Grant implements RightToServe {
  readonly #homeId: string;
  readonly #membership: ClusterPorts['membership'];
  #untilMs = 0;

  constructor(homeId: string, membership: ClusterPorts['membership']) {
    this.#homeId = homeId;
    this.#membership = membership;
  }

  /** Counted from before the home was asked. */
  extend(askedAtMs: number, grantMs: unknown): void {
    if (typeof grantMs === 'number') this.#untilMs = Math.max(this.#untilMs, askedAtMs + grantMs);
  }

  /** The home has changed, and the new one counts on it that the old one's word is kept for as long as it was given. */
  inherit(from: Grant): void {
    this.#untilMs = Math.max(this.#untilMs, from.#untilMs);
  }

  mayServe(): boolean {
    if (performance.now() >= this.#untilMs || !this.#membership.mayServe()) return false;
    return this.#hasLease(this.#homeId) || !this.#hasLease(this.#membership.self.id);
  }

  #hasLease(nodeId: string): boolean {
    const row = this.#membership.get(nodeId);
    return row !== undefined && row.leaseEndsAtMs - MARGIN_MS > this.#membership.nowMs();
  }
}
