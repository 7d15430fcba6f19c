import type { Heartbeat, NodeStore } from '../../../src/store/node-store.ts';
import {
  type LeaseExpiryListener,
  type Membership,
  NODE_LEASE_MS,
  NODE_RENEW_MS,
} from '../../../src/tunnel/nodes/membership/membership.ts';
import type { NodeFacts, NodeRow } from '../../../src/tunnel/nodes/node.ts';

/** A node's lease in the real store, renewed as a server does it; the test stops and resumes the renewals. */
export class LeaseMembership
  implements
    Pick<Membership, 'self' | 'nodes' | 'get' | 'mayServe' | 'rightLeftMs' | 'nowMs' | 'onChange' | 'onLeaseExpired'>
{
  readonly self: NodeFacts;
  readonly #store: NodeStore;
  readonly #timer: NodeJS.Timeout;
  readonly #changes = new Set<() => void>();
  readonly #expiries = new Set<LeaseExpiryListener>();
  #rows = new Map<string, NodeRow>();
  #storeNowMs = 0;
  #readAtMs = 0;
  #leaseEndsMs = 0;
  #isRenewing = false;
  isPaused = false;
  status: 'ready' | 'draining' = 'ready';

  constructor(self: NodeFacts, store: NodeStore) {
    this.self = self;
    this.#store = store;
    this.#timer = setInterval(() => void this.renew().catch(() => {}), NODE_RENEW_MS).unref();
  }

  nodes(): readonly NodeRow[] {
    return [...this.#rows.values()];
  }

  get(id: string): NodeRow | undefined {
    return this.#rows.get(id);
  }

  mayServe(): boolean {
    return performance.now() < this.#leaseEndsMs;
  }

  rightLeftMs(): number {
    return Math.max(0, this.#leaseEndsMs - performance.now());
  }

  nowMs(): number {
    return this.#storeNowMs + performance.now() - this.#readAtMs;
  }

  onChange(listener: () => void): () => void {
    this.#changes.add(listener);
    return () => this.#changes.delete(listener);
  }

  onLeaseExpired(listener: LeaseExpiryListener): () => void {
    this.#expiries.add(listener);
    return () => this.#expiries.delete(listener);
  }

  /** Other nodes see it from now on. */
  async join(): Promise<void> {
    await this.renew();
    await this.#store.agree(this.self.id, {});
  }

  async renew(): Promise<void> {
    if (this.#isRenewing || this.isPaused) return;
    this.#isRenewing = true;
    const sentAtMs = performance.now();
    const { id, startedAtMs } = this.self;
    try {
      const doc = { ...this.self, roles: [...this.self.roles] };
      const beat = await this.#store.heartbeat({ id, status: this.status, startedAtMs, doc }, NODE_LEASE_MS);
      if (this.isPaused) return;
      if (beat.hadExpired) for (const listener of this.#expiries) void listener(true);
      this.#leaseEndsMs = sentAtMs + NODE_LEASE_MS;
      this.#read(beat, sentAtMs);
    } finally {
      this.#isRenewing = false;
    }
  }

  /** As kill -9. */
  stop(): void {
    this.isPaused = true;
    this.#leaseEndsMs = 0;
    clearInterval(this.#timer);
  }

  #read({ nowMs, nodes }: Heartbeat, sentAtMs: number): void {
    this.#storeNowMs = nowMs;
    this.#readAtMs = sentAtMs;
    const before = [...this.#rows.values()].map(({ id, status }) => `${id} ${status}`).join();
    this.#rows = new Map(
      nodes.map((node) => {
        const facts = node.doc as unknown as NodeFacts;
        const status = node.leaseEndsAtMs > nowMs ? node.status : 'lost';
        return [node.id, { ...facts, ...node, status, agents: 0, tunnels: 0, problems: [] }];
      }),
    );
    const after = [...this.#rows.values()].map(({ id, status }) => `${id} ${status}`).join();
    if (before !== after) for (const listener of this.#changes) listener();
  }
}
