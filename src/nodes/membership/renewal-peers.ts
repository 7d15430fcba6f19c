import type { Heartbeat } from '../../store/node-store.ts';

export type PeerRenewal =
  /** `hadLapsed`: the peer has the database, and could not renew. */
  | { readonly hasDatabase: true; readonly heartbeat: Heartbeat }
  /** Its database last answered this long ago. */
  | { readonly hasDatabase: false; readonly silentMs: number };

/** Other nodes, as far as they are linked: they renew the lease of a node that cannot reach the database. */
export interface RenewalPeers {
  isLinked(nodeId: string): boolean;
  linked(): readonly string[];
  /** Rejects when there is no answer in time. */
  renewThrough(nodeId: string): Promise<PeerRenewal>;
  /** Says to all linked nodes that this one leaves. */
  sayFarewell(): Promise<void>;
}

export const NO_PEERS: RenewalPeers = {
  isLinked: () => false,
  linked: () => [],
  renewThrough: () => Promise.reject(new Error('there are no peers')),
  sayFarewell: () => Promise.resolve(),
};
