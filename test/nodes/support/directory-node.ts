import { hasLabels } from '../../../src/kit/text/labels.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../../src/proxy/edge/tunnels/online-tunnels.ts';
import { TunnelUse } from '../../../src/proxy/edge/tunnels/tunnel-use.ts';
import { followNodes } from '../../../src/tunnel/nodes/directory/followed-nodes.ts';
import { NodeAnnouncer } from '../../../src/tunnel/nodes/directory/node-announcer.ts';
import type { Rights } from '../../../src/tunnel/nodes/directory/rights.ts';
import { AllTunnels, TunnelDirectory } from '../../../src/tunnel/nodes/directory/tunnel-directory.ts';
import type { FakeNetwork } from './fake-network.ts';

export interface Refusal {
  readonly peer: string;
  readonly reason: string;
  readonly [fact: string]: string | number;
}

/** Tunnels of agents that are connected to the node itself. */
class LocalTunnels implements OnlineTunnels {
  readonly #tunnels = new Map<string, OnlineTunnel & { labels: Readonly<Record<string, string>> | null }>();
  generation = 0;

  get(id: string): OnlineTunnel | undefined {
    return this.#tunnels.get(id);
  }

  matching(labels: Readonly<Record<string, string>>): readonly OnlineTunnel[] {
    return [...this.#tunnels.values()].filter((tunnel) => hasLabels(tunnel.labels, labels));
  }

  set(id: string, link: AgentLink | null, labels: Readonly<Record<string, string>> | null = null): void {
    this.generation += 1;
    this.#tunnels.set(id, { id, forwardsTo: '', inFlight: 0, use: new TunnelUse(), labels, link: () => link });
  }

  delete(id: string): void {
    this.generation += 1;
    this.#tunnels.delete(id);
  }
}

export interface DirectoryNode {
  readonly id: string;
  readonly local: LocalTunnels;
  readonly directory: TunnelDirectory;
  readonly announcer: NodeAnnouncer;
  readonly tunnels: AllTunnels;
  readonly refusals: Refusal[];
}

export function directoryNode(network: FakeNetwork, id: string, rights?: Rights): DirectoryNode {
  const links = network.join(id);
  const local = new LocalTunnels();
  const refusals: Refusal[] = [];
  const log = {
    refused: (peer: string, reason: string, facts: Readonly<Record<string, string | number>>) => {
      refusals.push({ peer, reason, ...facts });
    },
  };
  const directory = new TunnelDirectory({ ownNodeId: id, local, links, log, ...(rights !== undefined && { rights }) });
  const announcer = new NodeAnnouncer(directory);
  announcer.serve(links);
  followNodes(links, directory, log);
  return { id, local, directory, announcer, tunnels: new AllTunnels(local, directory, () => false), refusals };
}
