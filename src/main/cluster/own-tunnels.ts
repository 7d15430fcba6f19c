import { tunnelFigures } from '../../edge/tunnels/tunnel-figures.ts';
import type { OnlineTunnelTable } from '../../gateway/online-tunnel-table.ts';
import type { TunnelDirectory } from '../../nodes/directory/tunnel-directory.ts';
import type { AllFigures } from '../../telemetry/live/tunnel-figures.ts';
import type { OpenedGateway } from './gateway.ts';

/** Latency and traffic of tunnels at this node, with agents connected here or elsewhere. */
export function ownTunnels(
  table: Pick<OnlineTunnelTable, 'all' | 'get'>,
  directory: Pick<TunnelDirectory, 'remoteTunnels' | 'remoteTunnel'>,
  gateway: () => OpenedGateway | null,
): () => AllFigures {
  const elsewhere = { all: () => directory.remoteTunnels(), get: (id: string) => directory.remoteTunnel(id) };
  return () => ({
    tunnels: tunnelFigures(table, elsewhere),
    agents: gateway()?.gateway.agentFigures() ?? [],
  });
}
