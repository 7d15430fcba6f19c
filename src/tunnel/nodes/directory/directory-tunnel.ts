import { type Shortage, shortageOf, takes } from '../../../kit/net/shared-places.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import { TunnelCircuitBreaker } from '../../../proxy/edge/tunnels/tunnel-circuit-breaker.ts';
import { TunnelUse } from '../../../proxy/edge/tunnels/tunnel-use.ts';
import type { PeerLinks } from '../links/peer-links.ts';
import type { AnnouncedEndpoint, AnnouncedTunnel, Announcement, Claim } from './announced.ts';
import { NONE_RIGHT, type RightClaims } from './rights.ts';

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

/** A session that at least one node announces, with the claims of all nodes about the session. */
export class DirectorySession {
  readonly id: string;
  readonly claims: Claim[] = [];
  readonly tunnels = new Map<string, DirectoryTunnel>();
  right: RightClaims = NONE_RIGHT;
  /** The store's decisions, only for a session that nodes contradict each other about. */
  verdicts: Map<string, boolean> | null = null;

  constructor(id: string) {
    this.id = id;
  }

  /** The claim of the session's home. */
  get home(): Claim | null {
    const [first] = this.right.counted;
    return first !== undefined && first.by.nodeId === first.session.homeNodeId ? first : null;
  }

  claimBy(by: Announcement): Claim | undefined {
    return this.claims.find((claim) => claim.by === by);
  }

  remove(claim: Claim): void {
    const at = this.claims.indexOf(claim);
    if (at !== -1) this.claims.splice(at, 1);
  }
}

interface Rank {
  readonly epoch: number;
  readonly sessionId: string;
  readonly id: string;
}

/**
 * Keys that only one item may have; the other items wait for their turn. The item with the highest epoch has the key.
 * If the store can decide, the first item has the key until the store names another session.
 */
export class Owners<Item extends Rank> {
  readonly #keepsIncumbent: boolean;
  readonly #owners = new Map<string, Item>();
  /** Only for keys with a conflict. */
  readonly #waiting = new Map<string, Set<Item>>();
  /** Sessions that the store named, for keys with a conflict. */
  readonly #decided = new Map<string, string>();

  constructor(keepsIncumbent = false) {
    this.#keepsIncumbent = keepsIncumbent;
  }

  get(key: string): Item | undefined {
    return this.#owners.get(key);
  }

  /** Gives the key to an item of the session `sessionId`, if there is such an item. */
  decide(key: string, sessionId: string): void {
    if (!this.#waiting.has(key)) return;
    this.#decided.set(key, sessionId);
    const owner = this.#owners.get(key);
    if (owner !== undefined) this.add(key, owner);
  }

  /** Adds the item, or ranks it again after its epoch changed. In a conflict, returns the item that has to wait. */
  add(key: string, item: Item): Item | null {
    const owner = this.#owners.get(key);
    const waiting = this.#waiting.get(key);
    if (owner === undefined || (owner === item && waiting === undefined)) {
      this.#owners.set(key, item);
      return null;
    }
    const others = waiting ?? new Set<Item>();
    others.delete(item);
    if (owner === item) {
      const best = this.#bestOf(key, others);
      if (best === undefined || !this.#isBetter(key, best, item)) return null;
      others.delete(best);
      others.add(item);
      this.#owners.set(key, best);
      return item;
    }
    this.#waiting.set(key, others);
    const isBetter = this.#isBetter(key, item, owner);
    others.add(isBetter ? owner : item);
    if (isBetter) this.#owners.set(key, item);
    return isBetter ? owner : item;
  }

  /** Removes the item. Returns the item that waited for the key and has the key now, if there is one. */
  remove(key: string, item: Item): Item | null {
    const waiting = this.#waiting.get(key);
    if (this.#owners.get(key) !== item) {
      waiting?.delete(item);
      if (waiting?.size === 0) this.#settled(key);
      return null;
    }
    const next = waiting === undefined ? undefined : this.#bestOf(key, waiting);
    if (next === undefined || waiting === undefined) {
      this.#owners.delete(key);
      return null;
    }
    waiting.delete(next);
    if (waiting.size === 0) this.#settled(key);
    this.#owners.set(key, next);
    return next;
  }

  #settled(key: string): void {
    this.#waiting.delete(key);
    this.#decided.delete(key);
  }

  #isBetter(key: string, item: Item, owner: Item): boolean {
    const decided = this.#decided.get(key);
    const isDecided = item.sessionId === decided;
    if (isDecided !== (owner.sessionId === decided)) return isDecided;
    return !this.#keepsIncumbent && isBefore(item, owner);
  }

  #bestOf(key: string, items: ReadonlySet<Item>): Item | undefined {
    const decided = this.#decided.get(key);
    let best: Item | undefined;
    for (const item of items) {
      if (item.sessionId === decided) return item;
      if (best === undefined || isBefore(item, best)) best = item;
    }
    return best;
  }
}

/** Ties have the same outcome on every node. */
function isBefore(a: Rank, b: Rank): boolean {
  if (a.epoch !== b.epoch) return a.epoch > b.epoch;
  return a.sessionId === b.sessionId ? a.id < b.id : a.sessionId < b.sessionId;
}
