import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import { TunnelCircuitBreaker } from '../../edge/tunnels/tunnel-circuit-breaker.ts';
import { type Shortage, shortageOf, takes } from '../../lib/net/shared-places.ts';
import { TunnelUse } from '../../tunnel/tunnel-use.ts';
import type { PeerLinks } from '../links/peer-links.ts';
import type { AnnouncedEndpoint, AnnouncedTunnel } from './announced.ts';
import type { Announcement } from './announcement.ts';
import type { Rank } from './owners.ts';

/** Where a stream for a tunnel may go: over the agent's connection to this node, or to a node with a connection. */
export interface Ways {
  readonly local: OnlineTunnels;
  readonly links: Pick<PeerLinks, 'get'>;
}

/**
 * A connection here is clearly busier than the way over another node when it has more than twice as many streams plus
 * this number. A hop costs both nodes, so the hop must save more than it costs.
 */
const CLEARLY_BUSIER_STREAMS = 64;
/** A node that answered no ping for this long may be frozen or cut off: another holder is the safer way. */
const DOUBTFUL_AFTER_MS = 900;

/** A tunnel that at least one node announces. */
export class DirectoryTunnel implements OnlineTunnel, Rank {
  readonly id: string;
  readonly sessionId: string;
  /** The home's announcement of the tunnel, or that of another holder if the home announces none. */
  announced: AnnouncedTunnel;
  epoch: number;
  /** Other nodes that can reach the agent. */
  holders: readonly Announcement[] = [];
  /** Whether this node announces the tunnel too. */
  isOwn = false;
  /** Requests that this node has in progress. */
  inFlight = 0;
  /** Null: no node refuses streams of the tunnel. */
  #breaker: TunnelCircuitBreaker | null = null;
  readonly use = new TunnelUse();
  readonly #ways: Ways;

  constructor(announced: AnnouncedTunnel, epoch: number, ways: Ways) {
    this.id = announced.id;
    this.sessionId = announced.sessionId;
    this.announced = announced;
    this.epoch = epoch;
    this.#ways = ways;
  }

  get forwardsTo(): string {
    return this.announced.forwardsTo;
  }

  get isReachable(): boolean {
    for (const holder of this.holders) if (holder.isUp) return true;
    return false;
  }

  /** Nodes that announce the tunnel and refuse its streams may not serve it now. Otherwise they would withdraw it. */
  get isSuspended(): boolean {
    if (this.#ways.local.get(this.id)?.isSuspended === true) return true;
    return this.#breaker?.isOpen === true && this.isReachable;
  }

  mayTry(): boolean {
    if (this.#breaker === null) return true;
    const mayTry = this.#breaker.mayTry();
    if (!this.#breaker.isOpen) this.#breaker = null;
    return mayTry;
  }

  refused(): void {
    this.#breaker ??= new TunnelCircuitBreaker();
    this.#breaker.refused();
  }

  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    const here = this.#linkHere(tried, visitor);
    if (here !== null && here.active <= CLEARLY_BUSIER_STREAMS) return here;
    const peer = this.#peer(tried, visitor);
    if (here === null || peer === null) return here ?? peer;
    return here.active > 2 * peer.active + CLEARLY_BUSIER_STREAMS ? peer : here;
  }

  shortage(visitor: string | undefined): Shortage | null {
    const links = this.holders.flatMap(({ isUp, nodeId }) => (isUp ? (this.#ways.links.get(nodeId) ?? []) : []));
    return this.#ways.local.get(this.id)?.shortage?.(visitor) ?? shortageOf(links, visitor);
  }

  #linkHere(tried: readonly AgentLink[] | undefined, visitor: string | undefined): AgentLink | null {
    const link = this.#ways.local.get(this.id)?.link(tried, visitor) ?? null;
    return link === null || tried?.includes(link) === true ? null : link;
  }

  #peer(tried: readonly AgentLink[] | undefined, visitor: string | undefined): AgentLink | null {
    let best: AgentLink | null = null;
    let isBestDoubtful = false;
    const nowMs = this.holders.length > 1 ? performance.now() : 0;
    for (const holder of this.holders) {
      const link = holder.isUp ? this.#ways.links.get(holder.nodeId) : undefined;
      if (link === undefined || !takes(link, visitor) || tried?.includes(link) === true) continue;
      const isDoubtful = link.isDoubted || nowMs - link.heardAtMs > DOUBTFUL_AFTER_MS;
      if (best !== null && (isDoubtful === isBestDoubtful ? link.active >= best.active : isDoubtful)) continue;
      best = link;
      isBestDoubtful = isDoubtful;
    }
    return best;
  }
}

/** The name or port that only one session may have, as in the store's claims. */
export function nameKeyOf({ proto, host, port }: AnnouncedEndpoint): string {
  if (proto === 'tcp') return `port ${port}`;
  return `${proto === 'http' ? 'plain' : 'tls'} ${host}`;
}
