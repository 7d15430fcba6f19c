import type { LatePart } from '../../../kit/late-part.ts';
import type { EndpointPublisher, NewEndpoint, Publication } from '../../../proxy/edge/tunnels/endpoints.ts';
import type { DirectoryTunnel } from '../../../tunnel/nodes/directory/directory-tunnel.ts';
import type { DirectoryListener } from '../../../tunnel/nodes/directory/tunnel-directory.ts';
import type { EdgeWorkers } from './edge-workers.ts';
import type { ToldTunnel } from './worker-protocol.ts';
import type { WorkerThread } from './worker-thread.ts';

export interface WorkerEndpointsHooks {
  /** The ports of tcp tunnels have changed, which this thread has. */
  onPorts(): void;
  /** A tunnel is gone. Workers do not know it yet. */
  onUnlisted(): void;
}

/** Tunnels and endpoints of agents, in this thread and in all workers. */
export class WorkerEndpoints implements EndpointPublisher, DirectoryListener {
  readonly #own: EndpointPublisher;
  readonly #workers: LatePart<EdgeWorkers>;
  readonly #hooks: WorkerEndpointsHooks;
  readonly #tunnels = new Map<string, ToldTunnel>();
  readonly #published = new Map<string, NewEndpoint>();
  /** Workers that know all endpoints, and hear of each new one. */
  readonly #introduced = new WeakSet<WorkerThread>();

  /** `own` decides. */
  constructor(own: EndpointPublisher, workers: LatePart<EdgeWorkers>, hooks: WorkerEndpointsHooks) {
    this.#own = own;
    this.#workers = workers;
    this.#hooks = hooks;
  }

  onListed({ id, sessionId, announced: { labels, forwardsTo } }: DirectoryTunnel): void {
    const tunnel = { id, labels, forwardsTo, sessionId };
    this.#tunnels.set(id, tunnel);
    this.#workers.get().tell('tunnelOnline', tunnel);
  }

  onUnlisted({ id }: DirectoryTunnel): void {
    this.#tunnels.delete(id);
    this.#hooks.onUnlisted();
    this.#workers.get().tell('tunnelOffline', id);
  }

  onSession(): void {}

  onServed(): void {}

  onUnserved(): void {}

  isCoveredByEdge(host: string): boolean {
    return this.#own.isCoveredByEdge(host);
  }

  async publish(endpoint: NewEndpoint): Promise<Publication> {
    const published = await this.#own.publish(endpoint);
    if (!published.ok) return published;
    if (endpoint.proto === 'tcp') {
      this.#hooks.onPorts();
      return published;
    }
    this.#published.set(endpoint.id, endpoint);
    const introduced = this.#workers
      .get()
      .all()
      .filter((worker) => this.#introduced.has(worker));
    const all = await Promise.allSettled(introduced.map(({ calls }) => calls.call('publish', endpoint)));
    // One that has ended is replaced by one that hears of it.
    const refused = all.find((one) => one.status === 'fulfilled' && !one.value.ok);
    if (refused === undefined || !this.#published.has(endpoint.id)) return published;
    this.withdraw(endpoint.id);
    return (refused as PromiseFulfilledResult<Publication>).value;
  }

  withdraw(endpointId: string): void {
    this.#own.withdraw(endpointId);
    if (this.#published.delete(endpointId)) this.#workers.get().tell('withdraw', endpointId);
    else this.#hooks.onPorts();
  }

  async introduce(worker: WorkerThread): Promise<void> {
    const { calls } = worker;
    this.#introduced.add(worker);
    for (const tunnel of this.#tunnels.values()) calls.tell('tunnelOnline', [tunnel]);
    await Promise.all([...this.#published.values()].map((endpoint) => calls.call('publish', endpoint)));
  }
}
