import { tunnelFigures } from '../edge/tunnels/tunnel-figures.ts';
import type { OnlineTunnelTable } from '../gateway/online-tunnel-table.ts';
import type { NodeTunnels } from '../lib/tunnel-figures.ts';
import type { TunnelDirectory } from '../nodes/directory/tunnel-directory.ts';
import type { OpenedGateway } from './gateway.ts';

/** Latency and traffic of tunnels at this node, with agents connected here or elsewhere. */
export function ownTunnels(
  table: Pick<OnlineTunnelTable, 'all'>,
  directory: Pick<TunnelDirectory, 'remoteTunnels'>,
  gateway: () => OpenedGateway | null,
): () => NodeTunnels {
  return () => ({
    tunnels: tunnelFigures([table.all(), directory.remoteTunnels()]),
    agents: gateway()?.gateway.agentFigures() ?? [],
  });
}
