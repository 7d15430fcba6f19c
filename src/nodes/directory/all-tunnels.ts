import type { OnlineTunnel, OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import type { TunnelDirectory } from './tunnel-directory.ts';

type Labels = Readonly<Record<string, string>>;

/** The tunnels that traffic can use: tunnels of agents connected here, and tunnels that other nodes reach. */
export class AllTunnels implements OnlineTunnels {
  readonly #local: OnlineTunnels;
  readonly #directory: TunnelDirectory;
  readonly #isUnsettled: () => boolean;

  /** `isUnsettled`: another node is ready, and this node does not know all its announcements yet. */
  constructor(local: OnlineTunnels, directory: TunnelDirectory, isUnsettled: () => boolean) {
    this.#local = local;
    this.#directory = directory;
    this.#isUnsettled = isUnsettled;
  }

  get isUnsettled(): boolean {
    return this.#isUnsettled();
  }

  /** Both generations only increase, so the sum changes whenever one of them changes. */
  get generation(): number {
    return this.#local.generation + this.#directory.generation;
  }

  /** The directory's tunnel comes first: it knows the agent's connections here and on other nodes. */
  get(tunnelId: string): OnlineTunnel | undefined {
    return this.#directory.remoteTunnel(tunnelId) ?? this.#local.get(tunnelId);
  }

  matching(labels: Labels): readonly OnlineTunnel[] {
    const local = this.#local.matching(labels);
    const remote = this.#directory.remoteMatching(labels);
    if (remote.length === 0) return local;
    return [...remote, ...local.filter(({ id }) => this.#directory.remoteTunnel(id)?.isReachable !== true)];
  }
}
