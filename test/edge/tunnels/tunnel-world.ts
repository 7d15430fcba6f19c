import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import {
  createNodeMemories,
  MAIN_THREAD,
  openModuleRuntimes,
} from '../../../src/app/main/data-plane/module-runtimes.ts';
import { loginBudgets, moduleLogins } from '../../../src/app/main/people/logins.ts';
import { loadConfig } from '../../../src/app/settings/load.ts';
import { othersWrites } from '../../../src/control/api/others-writes.ts';
import { createCatalog } from '../../../src/control/documents/catalog.ts';
import { resources } from '../../../src/control/resources/registry.ts';
import { systemClock } from '../../../src/kit/clock.ts';
import type { ListenAddress, PortRange } from '../../../src/kit/net/listen-address.ts';
import { modules } from '../../../src/modules/registry.ts';
import { reservedNames } from '../../../src/modules/reserved-names.ts';
import { createEdge, type Edge } from '../../../src/proxy/edge/edge.ts';
import type { EdgeSettings } from '../../../src/proxy/edge/edge-settings.ts';
import { openEdgeListener, plainConnections } from '../../../src/proxy/edge/listeners/edge-listener.ts';
import { AcmeChallenges } from '../../../src/proxy/edge/tls/acme-challenges.ts';
import { createCertificateStore } from '../../../src/proxy/edge/tls/certificate-store.ts';
import type { NewEndpoint, Publication } from '../../../src/proxy/edge/tunnels/endpoints.ts';
import { Snapshots } from '../../../src/proxy/snapshot/snapshots.ts';
import { EdgeMetrics } from '../../../src/proxy/telemetry/metrics/edge-metrics.ts';
import type { RawConnectionFacts } from '../../../src/proxy/telemetry/traffic-facts.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { EdgeWorld, newHost, type Site } from '../../support/edge-world.ts';
import { openInternalCa } from '../../support/internal-ca.ts';
import { TestWorld } from '../../support/test-world.ts';
import { FakeAgent, FakeTunnels } from './fake-agent.ts';

const SETTINGS: EdgeSettings = {
  http: {
    maxHeaderBytes: 32_768,
    maxHeaderCount: 100,
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 0,
    keepAliveTimeoutMs: 30_000,
    sendTimeoutMs: 30_000,
    maxConcurrentStreams: 100,
  },
  admission: { maxRequests: 0, maxStreams: 0, addressSharePercent: 100, minBodyBytesPerSecond: 0 },
  tls: {},
  upstream: {
    connectTimeoutMs: 5_000,
    responseTimeoutMs: 20_000,
    idleTimeoutMs: 20_000,
    keepAliveMs: 5_000,
    maxIdleConnections: 10,
    maxHeaderBytes: 131_072,
    maxHeaderCount: 500,
  },
  forwarding: { addsForwarded: false },
  trustedProxies: [],
  hostPorts: [],
  droppedHeaders: loadConfig({ flags: new Map(), env: {} }).config.drop_request_headers,
};

let tunnelCount = 0;
let endpointCount = 0;

/** The API of a real server, and an edge over its configuration whose agents the test simulates. */
export class TunnelWorld {
  readonly edge: Edge;
  /** Clients of the edge. */
  readonly clients: EdgeWorld;
  readonly tunnels: FakeTunnels;
  readonly httpPort: number;
  readonly tcpPorts: PortRange;
  /** Finished connections of tcp and tls tunnels. */
  readonly closed: RawConnectionFacts[];
  readonly registry: Registry;
  /** Names of the leaves that the internal CA was asked for, in order. */
  readonly leaves: readonly string[];

  private constructor(parts: Omit<TunnelWorld, 'tunnel' | 'publish' | 'group'>) {
    this.edge = parts.edge;
    this.clients = parts.clients;
    this.tunnels = parts.tunnels;
    this.httpPort = parts.httpPort;
    this.tcpPorts = parts.tcpPorts;
    this.closed = parts.closed;
    this.registry = parts.registry;
    this.leaves = parts.leaves;
  }

  static async open(
    test: Cleanup,
    upstream: Partial<EdgeSettings['upstream']> = {},
    tls: EdgeSettings['tls'] = {},
  ): Promise<TunnelWorld> {
    const holder: { clients?: EdgeWorld; close?: () => Promise<void> } = {};
    test.after(async () => {
      holder.clients?.disconnect();
      await holder.close?.();
    });
    const world = await TestWorld.open(test, { env: { POSTERN_API_RATE_LIMIT: '0' } });
    // The tests' provider is on loopback, where agents' issuers are not allowed by default.
    const env = { POSTERN_DATA_DIR: world.dataDir, POSTERN_AGENT_ISSUER_ALLOW_CIDRS: '127.0.0.0/8' };
    const { config } = loadConfig({ flags: new Map(), env });
    const { store, replica, log } = world.server;
    const clock = systemClock;
    const catalog = createCatalog(resources, modules);
    const registry = new Registry();
    const logins = moduleLogins(store, null);
    const others = othersWrites(store, replica, null);
    const attempts = loginBudgets(config, logins, clock);
    const parts = { config, store, replica, logins, attempts, others, catalog, clock, logger: log.logger, registry };
    const runtimes = await openModuleRuntimes({
      ...parts,
      isAddressAllowed: () => true,
      recompile: () => {},
      ownIssuer: null,
      nodeMemories: createNodeMemories(modules, config.moduleSettings),
      thread: MAIN_THREAD,
      traffic: { moduleEvent() {} },
    });
    const snapshots = await Snapshots.open(replica, {
      modules,
      kindOfId: catalog.kindOfId,
      runtimes: runtimes.byModule,
    });
    const ca = await openInternalCa({ dataDir: world.dataDir, domain: 'localhost', clock });
    const leaves: string[] = [];
    const mintLeaf: typeof ca.mintLeaf = (request) => {
      leaves.push(...request.hosts);
      return ca.mintLeaf(request);
    };
    const certificates = createCertificateStore({ records: replica, ca: { mintLeaf }, clock, onProblem: () => {} });
    const tunnels = new FakeTunnels();
    const closed: RawConnectionFacts[] = [];
    const tcpPorts = await freePorts(3);
    const edge = createEdge({
      snapshots,
      certificates,
      challenges: new AcmeChallenges({ records: replica, clock }),
      settings: { ...SETTINGS, upstream: { ...SETTINGS.upstream, ...upstream }, tls },
      reserved: reservedNames(modules),
      clock,
      log: log.logger,
      accessLog: null,
      createMetrics: (live) => new EdgeMetrics(registry, live),
      isUpstreamAllowed: () => true,
      publicPorts: () => ({ https: https.addresses[0].port, http: http.addresses[0].port }),
      tunnels: {
        online: tunnels,
        mayServe: () => tunnels.mayServe,
        endpoints: { modules, moduleSettings: new Map(), tcpPorts, domain: 'localhost' },
        onConnectionClosed: (facts) => closed.push(facts),
      },
    });
    const onProblem = (error: Error): void => assert.fail(error);
    const https = await openEdgeListener({ open: [openServer], onSocket: (socket) => edge.accept(socket), onProblem });
    const http = await openEdgeListener({
      open: [openServer],
      onSocket: plainConnections(0, (socket) => edge.acceptPlain(socket)),
      onProblem,
    });
    holder.close = async () => {
      const drained = [https.drain(1500), http.drain(1500)];
      await edge.drain(500);
      await Promise.all(drained);
      snapshots.close();
      certificates.close();
      await runtimes.close();
    };
    const clients = EdgeWorld.over(world, https.addresses[0].port);
    holder.clients = clients;
    const httpPort = http.addresses[0].port;
    return new TunnelWorld({ edge, clients, tunnels, httpPort, tcpPorts, closed, registry, leaves });
  }

  /** An online tunnel whose agent echoes the request. */
  async tunnel(test: Cleanup): Promise<{ id: string; agent: FakeAgent }> {
    tunnelCount += 1;
    const id = `tn_${tunnelCount}`;
    const agent = await FakeAgent.open(test, id);
    this.tunnels.add(id, agent);
    return { id, agent };
  }

  /** An agent's endpoint, which must be granted unless the test checks the refusal itself. */
  async publish(
    tunnelId: string,
    endpoint: Partial<NewEndpoint> = {},
  ): Promise<Publication & { readonly id: string; readonly host: string }> {
    endpointCount += 1;
    const id = endpoint.id ?? `ep_${endpointCount}`;
    const host = endpoint.host ?? newHost();
    const published = await this.edge.endpoints.publish({
      proto: 'https',
      port: null,
      modules: {},
      ...endpoint,
      id,
      tunnelId,
      host: endpoint.proto === 'tcp' ? null : host,
    });
    return { ...published, id, host };
  }

  /** A site whose route uses the tunnels with these labels. */
  async group(labels: Readonly<Record<string, string>>, host = newHost()): Promise<Site> {
    const { id } = await this.clients.api('POST', '/backends/tunnel_group', { labels });
    return this.clients.site(id, host);
  }
}

async function openServer(server: Server): Promise<ListenAddress> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

/** A range of ports that are free at the moment, below those that the system gives to connections. */
async function freePorts(count: number): Promise<PortRange> {
  for (;;) {
    const first = randomInt(10_000, 32_000);
    const probes = Array.from({ length: count }, () => createServer());
    const opened = await Promise.allSettled(
      probes.map(async (server, at) => {
        const failed = once(server, 'error').then(([error]) => Promise.reject(error));
        await Promise.race([once(server.listen(first + at, '127.0.0.1'), 'listening'), failed]);
      }),
    );
    await Promise.all(probes.map((server) => new Promise((resolve) => server.close(resolve))));
    if (opened.every(({ status }) => status === 'fulfilled'))
      return { host: '127.0.0.1', first, last: first + count - 1 };
  }
}

/** An open plain connection. */
export async function dial(test: Cleanup, port: number, allowHalfOpen = false): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
  socket.on('error', () => {});
  test.after(() => {
    socket.destroy();
    return Promise.resolve();
  });
  await once(socket, 'connect');
  return socket;
}
