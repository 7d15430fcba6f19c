import type { Heartbeat } from '../../store/node-store.ts';

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
  /** `hadLapsed`: the peer has the database, and could not renew. */
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
