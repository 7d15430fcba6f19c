import type { Shortage } from '../../lib/net/shared-places.ts';
import { TunnelUse } from '../../tunnel/tunnel-use.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from './online-tunnels.ts';

/**
 * A tunnel that nobody announces while this node is not linked with all others: it has just woken, or a link broke. Its
 * visitors wait, as they do for the right to serve it, until another node announces it or all are linked.
 */
class AwaitedTunnel implements OnlineTunnel {
  readonly id: string;
  inFlight = 0;
  readonly #tunnels: OnlineTunnels;
  readonly #ownUse = new TunnelUse();

  constructor(id: string, tunnels: OnlineTunnels) {
    this.id = id;
    this.#tunnels = tunnels;
  }

  get forwardsTo(): string {
    return this.#now?.forwardsTo ?? '';
  }

  get use(): TunnelUse {
    return this.#now?.use ?? this.#ownUse;
  }

  get isSuspended(): boolean {
    const now = this.#now;
    return now === undefined ? this.#tunnels.isUnsettled === true : now.isSuspended === true;
  }

  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    return this.#now?.link(tried, visitor) ?? null;
  }

  shortage(visitor: string | undefined): Shortage | null {
    return this.#now?.shortage?.(visitor) ?? null;
  }

  mayTry(): boolean {
    return this.#now?.mayTry?.() !== false;
  }

  refused(): void {
    this.#now?.refused?.();
  }

  get #now(): OnlineTunnel | undefined {
    return this.#tunnels.get(this.id);
  }
}

/** Null: nobody can announce it in a moment. */
export function awaitedTunnel(id: string, tunnels: OnlineTunnels): OnlineTunnel | null {
  return tunnels.isUnsettled === true ? new AwaitedTunnel(id, tunnels) : null;
}
