import { within } from '../../../kit/async/waiting.ts';
import type { Heartbeat, NodeStore } from '../../../store/node-store.ts';
import { NODE_LEASE_MS } from './membership.ts';

/** A peer's statement about itself, in its answer to a request for a renewal. */
export interface PeerWord {
  /** How long ago the database last answered the peer. */
  readonly silentMs: number;
  /** How long the peer's own link to the asking node has been up; 0: the link is down, or the peer does not say. */
  readonly linkedMs: number;
  /** The peer keeps that link for at least this time, also if the peer hears nothing over it. */
  readonly keepsMs: number;
}

export type PeerRenewal =
  /** `hadExpired`: the peer has the database, and could not renew. */
  { readonly heartbeat: Heartbeat; readonly word: PeerWord } | { readonly heartbeat: null; readonly word: PeerWord };

/** Other nodes, as far as they are linked: they renew the lease of a node that cannot reach the database. */
export interface RenewalPeers {
  isLinked(nodeId: string): boolean;
  linked(): readonly string[];
  /** State of this node's own link to the node `nodeId`. */
  linkTo(nodeId: string): Pick<PeerWord, 'linkedMs' | 'keepsMs'>;
  /** Rejects when there is no answer in time. */
  renewThrough(nodeId: string): Promise<PeerRenewal>;
  /** Tells all linked nodes that this node leaves. */
  sayFarewell(): Promise<void>;
}

export const NO_PEERS: RenewalPeers = {
  isLinked: () => false,
  linked: () => [],
  linkTo: () => ({ linkedMs: 0, keepsMs: 0 }),
  renewThrough: () => Promise.reject(new Error('there are no peers')),
  sayFarewell: () => Promise.resolve(),
};

/** Whether the node renewed. */
type TakeRenewal = (nodeId: string, sentAtMs: number, renewal: PeerRenewal) => boolean;

/** Asks linked nodes for renewals: first the node that renewed last, then all other nodes at once. */
export class AskedPeers {
  readonly #monotonicMs: () => number;
  readonly #take: TakeRenewal;
  readonly #asking = new Map<string, Promise<boolean>>();
  /** The peer that renewed last. */
  #preferred: string | null = null;

  constructor(monotonicMs: () => number, take: TakeRenewal) {
    this.#monotonicMs = monotonicMs;
    this.#take = take;
  }

  /** Answers that are still missing. */
  get pending(): readonly Promise<boolean>[] {
    return [...this.#asking.values()];
  }

  preferNone(): void {
    this.#preferred = null;
  }

  async ask(peers: RenewalPeers): Promise<void> {
    const linked = peers.linked();
    const preferred = linked.find((id) => id === this.#preferred);
    if (preferred !== undefined && (await this.#askPeer(peers, preferred))) return;
    this.#preferred = null;
    await Promise.all(linked.filter((id) => id !== preferred).map((id) => this.#askPeer(peers, id)));
  }

  /** A peer that does not answer delays no other peer. */
  #askPeer(peers: RenewalPeers, nodeId: string): Promise<boolean> {
    const asking = this.#asking.get(nodeId) ?? this.#ask(peers, nodeId).finally(() => this.#asking.delete(nodeId));
    this.#asking.set(nodeId, asking);
    return asking;
  }

  async #ask(peers: RenewalPeers, nodeId: string): Promise<boolean> {
    const sentAtMs = this.#monotonicMs();
    const answer = await peers.renewThrough(nodeId).catch(() => null);
    const isRenewed = answer !== null && this.#take(nodeId, sentAtMs, answer);
    if (isRenewed) this.#preferred = nodeId;
    return isRenewed;
  }
}

/** Connections for leases of peers, beside the one for the own lease. */
const RENEWALS_AT_ONCE = 2;
/** Peers need an answer while their own lease is valid. */
const RENEW_FOR_MS = 250;

/** Renews the leases of peers that cannot reach the database. */
export class RenewalsForPeers {
  readonly #store: Pick<NodeStore, 'renewFor'>;
  #inProgress = 0;

  constructor(store: Pick<NodeStore, 'renewFor'>) {
    this.#store = store;
  }

  /** Null: the database did not answer in time. */
  async renewFor(nodeId: string): Promise<Heartbeat | null> {
    if (this.#inProgress >= RENEWALS_AT_ONCE) return null;
    this.#inProgress += 1;
    const renewal = this.#store.renewFor(nodeId, NODE_LEASE_MS);
    // A database that does not answer keeps the connection busy, also after the peer has got its answer.
    const over = (): void => {
      this.#inProgress -= 1;
    };
    void renewal.then(over, over);
    return within(renewal, RENEW_FOR_MS, 'the renewal for a peer').catch(() => null);
  }
}
