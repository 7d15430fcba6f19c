import type { Clock } from '../../../kit/clock.ts';
import type { ArrivingClients } from '../../../kit/net/arriving-clients.ts';
import type { Snapshots } from '../../snapshot/snapshots.ts';
import type { RawConnectionFacts } from '../../telemetry/traffic-facts.ts';
import { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import type { EdgeSettings } from '../edge-settings.ts';
import { TunnelTargets } from '../forwarding/backend-targets.ts';
import type { HeldResponse } from '../http/stalled-responses.ts';
import { DEFAULT_TLS_LIMITS, type Passthrough } from '../tls/tls-ports.ts';
import { type EndpointSettings, Endpoints, type PublicPorts } from './endpoint-publisher.ts';
import type { EndpointPublisher } from './endpoints.ts';
import type { OnlineTunnels } from './online-tunnels.ts';
import { RawConnections } from './raw-connections.ts';
import { TcpPorts } from './tcp-ports.ts';
import { always } from './tunnel-upstream.ts';

/** For a process that has a gateway beside its edge. */
export interface TunnelOptions {
  readonly online: OnlineTunnels;
  readonly endpoints: EndpointSettings;
  /** Whether this process may serve names of agents now; asked per request. Absent: always. */
  readonly mayServe?: () => boolean;
  /** A connection of a tcp or tls tunnel has ended. */
  readonly onConnectionClosed?: (facts: RawConnectionFacts) => void;
  /** See TcpPortsOptions. */
  readonly inheritedPort?: (port: number) => number | null;
}

interface TunnelTrafficOptions {
  readonly tunnels: TunnelOptions;
  readonly publicPorts: PublicPorts;
  readonly snapshots: Snapshots;
  readonly settings: EdgeSettings;
  readonly clock: Clock;
  readonly random: () => number;
  readonly metrics: { rawOpened(proto: 'tcp' | 'tls'): void; rawClosed(facts: RawConnectionFacts): void };
  readonly clients?: ArrivingClients;
  /** Connections of visitors for which there are file descriptors. */
  readonly freeConnections?: (() => number) | undefined;
  readonly onProblem: (error: Error) => void;
}

export interface TunnelPorts {
  readonly host: string;
  has(port: number): boolean;
  list(): ReturnType<TcpPorts['list']>;
}

export interface TunnelTraffic {
  readonly targets: TunnelTargets;
  readonly endpoints: EndpointPublisher;
  /** Ports of current tcp tunnels. */
  readonly ports: TunnelPorts;
  passthroughFor(host: string): Passthrough | undefined;
  /** Connections that are forwarded undecrypted. */
  heldResponses(): Iterable<HeldResponse>;
  /** Accepts no more connections on tunnel ports. */
  startDraining(): void;
  /** Waits for raw connections, then cuts them, and withdraws every endpoint. */
  drain(leftMs: () => number): Promise<void>;
}

/** Assembles the edge's tunnel support. */
export function createTunnelTraffic(options: TunnelTrafficOptions): TunnelTraffic {
  const { tunnels, snapshots, settings, clock, metrics } = options;
  const { maxConnections, maxConnectionsPerAddress } = { ...DEFAULT_TLS_LIMITS, ...settings.tls };
  const { mayServe = always } = tunnels;
  const connections = new RawConnections({
    tunnels: tunnels.online,
    mayServe,
    clock,
    connectTimeoutMs: settings.upstream.responseTimeoutMs,
    onOpened: (proto) => metrics.rawOpened(proto),
    onClosed: (facts) => {
      metrics.rawClosed(facts);
      tunnels.onConnectionClosed?.(facts);
    },
  });
  const ports = new TcpPorts({
    range: tunnels.endpoints.tcpPorts,
    maxConnections,
    maxConnectionsPerAddress,
    free: options.freeConnections,
    random: options.random,
    ...(options.clients !== undefined && { clients: options.clients }),
    onProblem: options.onProblem,
    inherited: tunnels.inheritedPort,
  });
  const endpoints = new Endpoints({
    settings: tunnels.endpoints,
    publicPorts: options.publicPorts,
    snapshots,
    ports,
    connections,
  });
  return {
    targets: new TunnelTargets({
      tunnels: tunnels.online,
      limits: settings.upstream,
      ticker: new DeadlineTicker(),
      mayServe,
    }),
    endpoints,
    ports: { host: tunnels.endpoints.tcpPorts.host, has: (port) => ports.has(port), list: () => ports.list() },
    passthroughFor: (host) => {
      const endpoint = endpoints.tlsEndpoint(host);
      return endpoint && ((socket, client) => connections.carry(endpoint, socket, client));
    },
    heldResponses: () => connections.all(),
    startDraining: () => ports.close(),
    drain: async (leftMs) => {
      await connections.drain(leftMs);
      endpoints.withdrawAll();
    },
  };
}

/** For a process without a gateway: no agent can reach it. */
export const NO_TUNNELS: TunnelOptions = {
  online: { generation: 0, matching: () => [], get: () => undefined },
  endpoints: {
    modules: [],
    moduleSettings: new Map(),
    tcpPorts: { host: '127.0.0.1', first: 1, last: 0 },
    domain: 'localhost',
  },
};
