import type { TunnelSpec } from '../../../src/tunnel/agent/index.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import type { Cluster } from '../../support/cluster.ts';

/** How a client reaches a service whose agent is connected to another node. */
export interface FarWay {
  readonly name: string;
  readonly edge: ClusterNode;
  readonly host: string;
  readonly isCompressed: boolean;
}

let groupCount = 0;

/**
 * Through each node that the agent is not connected to: its own endpoint through one, a tunnel group behind a route,
 * which also compresses, through the next.
 */
export async function farWays(
  cluster: Cluster,
  spec: Omit<TunnelSpec, 'proto' | 'labels'>,
): Promise<readonly [FarWay, FarWay]> {
  const { first } = cluster;
  groupCount += 1;
  const labels = { app: 'far', group: String(groupCount) };
  const { id } = await first.api('POST', '/backends/tunnel_group', { labels });
  const site = await first.site(id);
  await first.api('PUT', `${site.routePath}/compression`, {});
  const agent = await cluster.agent(
    [
      { ...spec, proto: 'https' },
      { ...spec, labels: { ...labels, member: 'only' } },
    ],
    { at: [first], connections: 1 },
  );
  await cluster.visible(agent);
  const { hostname } = new URL(agent.publicUrl ?? '');
  const [near, far] = [cluster.node(1), cluster.node(2)];
  return [
    { name: `an https tunnel of another node, on ${near.name}`, edge: near, host: hostname, isCompressed: false },
    { name: `a tunnel group of another node, on ${far.name}`, edge: far, host: site.host, isCompressed: true },
  ];
}
