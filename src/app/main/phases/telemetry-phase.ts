import { ProblemIndex } from '../../../proxy/snapshot/problems.ts';
import { NO_THREADS } from '../../../proxy/telemetry/other-nodes.ts';
import type { Tracing } from '../../../proxy/tracing/tracing.ts';
import { OnlineTunnelTable } from '../../../tunnel/gateway/online-tunnel-table.ts';
import type { HopWebSockets } from '../../../tunnel/nodes/hop/receive-hops.ts';
import { type OpenedDirectory, openDirectory } from '../cluster/directory.ts';
import { ownTunnels, serveHops } from '../cluster/gateway.ts';
import { addPeerMetrics, type OpenedRequests, openRequests } from '../cluster/nodes.ts';
import { openServerTracing, SEND_REST_WITHIN_MS } from '../data-plane/tracing.ts';
import { type OpenedTraffic, openTraffic } from '../data-plane/traffic.ts';
import { type EventRecording, openEventRecording } from '../events.ts';
import type { CertificatesOpened } from './certificates-phase.ts';

export interface TelemetryOpened extends CertificatesOpened {
  readonly recording: EventRecording;
  readonly problems: ProblemIndex;
  /** Tunnels of agents that are connected to this node. */
  readonly ownTunnelTable: OnlineTunnelTable;
  readonly tracing: Tracing | null;
  /** WebSockets of visitors of other nodes. */
  readonly hopWebSockets: HopWebSockets;
  /** Tunnels of all nodes. */
  readonly directory: OpenedDirectory;
  readonly recorded: OpenedRequests;
  readonly traffic: OpenedTraffic;
}

/** Events, traces, the tunnels of all nodes, and the history of requests. */
export async function openTelemetry(
  earlier: CertificatesOpened,
  opened: AsyncDisposableStack,
): Promise<TelemetryOpened> {
  const { config, store, replica, clock, logger, registry, nodes, membership, links, late } = earlier;
  const recording = openEventRecording(earlier);
  opened.defer(() => recording.close());
  const problems = new ProblemIndex();
  const ownTunnelTable = new OnlineTunnelTable();
  const tracing = await openServerTracing({ config, store, registry, logger, node: membership.self.name });
  opened.defer(() => tracing?.close(SEND_REST_WITHIN_MS));
  const hopWebSockets = serveHops({ links, tunnels: ownTunnelTable, tracing, clock });
  addPeerMetrics(registry, links);
  const directory = openDirectory({ membership, links, local: ownTunnelTable, nodes: store.nodes, replica, logger });
  opened.defer(() => directory.close());
  const recorded = openRequests(config, nodes, {
    ask: (question) => (late.workers.ifOpen ?? NO_THREADS).ask(question),
  });
  const traffic = openTraffic({
    ...recorded,
    ...{ clock, logger, replica, membership, problems, config },
    // Agents of workers are connected to these.
    ownTunnels: ownTunnels(ownTunnelTable, directory.directory, () =>
      late.workers.ifOpen === null ? late.gateway.ifOpen : null,
    ),
  });
  await traffic.kept?.start();
  return { ...earlier, recording, problems, ownTunnelTable, tracing, hopWebSockets, directory, recorded, traffic };
}
