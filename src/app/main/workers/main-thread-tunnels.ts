import type { LatePart } from '../../../kit/late-part.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import type { PublicPorts } from '../../../proxy/edge/tunnels/endpoint-publisher.ts';
import { createTunnelTraffic } from '../../../proxy/edge/tunnels/tunnel-traffic.ts';
import { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import { EdgeMetrics } from '../../../proxy/telemetry/metrics/edge-metrics.ts';
import { upstreamGuard } from '../../../proxy/upstream/upstream-guard.ts';
import { edgeSettings, followLists } from '../data-plane/data-plane.ts';
import { reportNewProblems } from '../edge.ts';
import type { EdgeWorkers } from './edge-workers.ts';
import { WorkerEndpoints } from './worker-endpoints.ts';
import type { PublishedStatus, WorkersDependencies } from './workers-memory.ts';

/**
 * What the main thread serves itself: ports of tcp tunnels. It reaches agents through the workers that have their
 * connections.
 */
export interface MainThreadTunnels {
  readonly snapshots: Snapshots;
  readonly tunnels: ReturnType<typeof createTunnelTraffic>;
  /** Endpoints of agents, here and in all workers. */
  readonly endpoints: WorkerEndpoints;
}

interface TunnelParts {
  readonly workers: LatePart<EdgeWorkers>;
  readonly status: PublishedStatus;
  readonly publicPorts: PublicPorts;
}

export async function openMainThreadTunnels(
  deps: WorkersDependencies,
  { workers, status, publicPorts }: TunnelParts,
  opening: AsyncDisposableStack,
): Promise<MainThreadTunnels> {
  const { config, clock, logger, own } = deps;
  const snapshots = await openSnapshots(deps, workers, opening);
  const metrics = new EdgeMetrics(deps.registry, { requests: () => 0, streams: () => 0, connections: () => 0 });
  const tunnels = createTunnelTraffic({
    tunnels: tunnelPorts(deps),
    publicPorts,
    snapshots,
    settings: edgeSettings(config),
    clock,
    random: Math.random,
    metrics,
    clients: deps.clientsOf('tcp'),
    onProblem: (err) => logger.error({ err }, 'failed to accept a connection'),
  });
  own.setTunnelPorts(tunnels.ports);
  const endpoints = new WorkerEndpoints(tunnels.endpoints, workers, {
    onPorts: () => workers.get().tell('ownAddresses', own.list()),
    // Visitors who ask for the tunnel may have to wait for another node to announce it.
    onUnlisted: () => status.publish(),
  });
  return { snapshots, tunnels, endpoints };
}

async function openSnapshots(
  { config, replica, catalog, addressLists, ownHost, logger }: WorkersDependencies,
  workers: LatePart<EdgeWorkers>,
  opening: AsyncDisposableStack,
): Promise<Snapshots> {
  const { modules, kindOfId } = catalog;
  const { moduleSettings } = config;
  const snapshots = await Snapshots.open(replica, { modules, kindOfId, moduleSettings, addressLists });
  opening.defer(() => snapshots.close());
  opening.defer(followLists(addressLists, replica, snapshots));
  opening.defer(addressLists.onNews((news) => workers.get().tell('addressList', news)));
  opening.defer(addressLists.onForget((id) => workers.get().tell('forgetAddressList', id)));
  if (ownHost !== null) snapshots.serveOwnHost(ownHost);
  snapshots.onSwap((edgeId, now) =>
    workers.get().forgetMetrics(edgeId, new Set(Array.from(now?.routes.all ?? [], ({ id }) => id))),
  );
  reportNewProblems(snapshots, logger);
  return snapshots;
}

function tunnelPorts(deps: WorkersDependencies): Parameters<typeof createTunnelTraffic>[0]['tunnels'] {
  const { config, catalog, clock, own, sockets, traffic } = deps;
  const ksuid = createKsuidSource();
  return {
    online: deps.tunnels,
    mayServe: deps.mayServeNames,
    inheritedPort: (port) => sockets.takePort(port),
    onConnectionClosed: (facts) => {
      if (traffic.wantsConnections()) traffic.connectionClosed(`cn_${ksuid(clock.nowMs())}`, facts);
    },
    endpoints: {
      modules: catalog.modules,
      moduleSettings: config.moduleSettings,
      agentNetwork: { isAddressAllowed: upstreamGuard(config.upstream_allow_cidrs, own) },
      tcpPorts: config.tcp_ports,
      domain: config.domain,
    },
  };
}
