import type { PeerRenewal, RenewalPeers } from './renewal-peers.ts';

/** Whether the node renewed. */
export type TakeRenewal = (nodeId: string, sentAtMs: number, renewal: PeerRenewal) => boolean;

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
