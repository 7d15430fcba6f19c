import type { Heartbeat } from '../../store/node-store.ts';

/** What another node says about itself when it is asked for a renewal. */
export interface PeerWord {
  /** Its database last answered this long ago. */
  readonly silentMs: number;
  /** For so long its own link to the asking node has been up; 0: it is not, or it does not say so. */
  readonly linkedMs: number;
  /** It keeps that link for at least this time, also if it hears nothing. */
  readonly keepsMs: number;
}

export type PeerRenewal =
  /** `hadLapsed`: the peer has the database, and could not renew. */
  { readonly heartbeat: Heartbeat; readonly word: PeerWord } | { readonly heartbeat: null; readonly word: PeerWord };

/** Other nodes, as far as they are linked: they renew the lease of a node that cannot reach the database. */
export interface RenewalPeers {
  isLinked(nodeId: string): boolean;
  linked(): readonly string[];
  /** About this node's own link to that one. */
  linkTo(nodeId: string): Pick<PeerWord, 'linkedMs' | 'keepsMs'>;
  /** Rejects when there is no answer in time. */
  renewThrough(nodeId: string): Promise<PeerRenewal>;
  /** Says to all linked nodes that this one leaves. */
  sayFarewell(): Promise<void>;
}

export const NO_PEERS: RenewalPeers = {
  isLinked: () => false,
  linked: () => [],
  linkTo: () => ({ linkedMs: 0, keepsMs: 0 }),
  renewThrough: () => Promise.reject(new Error('there are no peers')),
  sayFarewell: () => Promise.resolve(),
};
