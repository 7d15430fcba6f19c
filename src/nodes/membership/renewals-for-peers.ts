import { within } from '../../lib/async/deadline.ts';
import type { Heartbeat, NodeStore } from '../../store/node-store.ts';
import { NODE_LEASE_MS } from './membership.ts';

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
