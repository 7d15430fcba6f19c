import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentHandle, type AgentOptions, startAgent, type TunnelSpec } from '../../src/tunnel/agent/index.ts';
import type { Cleanup } from './cleanup.ts';
import { ClusterNode, type NodePorts } from './cluster/cluster-node.ts';
import { freePortsOn, ownAddresses } from './cluster/own-addresses.ts';
import { processOfSocket } from './cluster/process-of-socket.ts';
import { Wire, type WireState } from './cluster/wire.ts';
import { freshDatabase, startPostgres } from './postgres.ts';
import { tempDir } from './temp-dir.ts';
import { TEST_API_KEY } from './test-world.ts';

export interface ClusterOptions {
  /** Default: 3. */
  readonly nodes?: number;
  /** A database of the test's own server. Default: one of the server that all tests share. */
  readonly databaseUrl?: string;
  /** Traffic between nodes goes through proxies of the test. */
  readonly hasWires?: boolean;
  /** Settings of every node. */
  readonly env?: Readonly<Record<string, string>>;
  /** Settings of one node, by its place. */
  readonly envOf?: (at: number) => Readonly<Record<string, string>>;
  /** Program of the first process of a node, by its place. Default: the checkout's. */
  readonly launcherOf?: (at: number) => string | undefined;
}

export interface ClusterAgentOptions extends Partial<Omit<AgentOptions, 'tunnels' | 'serverAddr' | 'lookup'>> {
  /** Which nodes the agent's server name resolves to, as from DNS. Default: the first. */
  readonly at?: readonly ClusterNode[];
}

interface ListedNode {
  readonly id: string;
  readonly roles: readonly string[];
}

/** A name that resolves to all nodes. */
const AGENTS_NAME = 'agents.cluster.test';
const TCP_PORTS = '21000-21099';

/** Several real server processes on one PostgreSQL database, each with an address of its own. */
export class Cluster {
  readonly nodes: readonly ClusterNode[];
  /** The first agent token. */
  readonly token: string;
  readonly databaseUrl: string;
  readonly secretKey: string;
  readonly #peerWires: readonly Wire[];
  readonly #databaseWires: readonly Wire[];
  readonly #agents = new Set<AgentHandle>();

  private constructor(
    nodes: readonly ClusterNode[],
    { token, databaseUrl, secretKey }: Pick<Cluster, 'token' | 'databaseUrl' | 'secretKey'>,
    wires: { readonly peer: readonly Wire[]; readonly database: readonly Wire[] },
  ) {
    this.nodes = nodes;
    this.token = token;
    this.databaseUrl = databaseUrl;
    this.secretKey = secretKey;
    this.#peerWires = wires.peer;
    this.#databaseWires = wires.database;
  }

  static async open(test: Cleanup, options: ClusterOptions = {}): Promise<Cluster> {
    const { nodes: count = 3, hasWires = false, env, envOf, launcherOf } = options;
    const holder: { cluster?: Cluster } = {};
    const tasks: (() => Promise<void>)[] = [];
    const cleanup: Cleanup = { after: (task) => void tasks.push(task) };
    test.after(async () => {
      // First: agents would reconnect repeatedly while the servers end.
      await holder.cluster?.closeAgents();
      for (const task of tasks.toReversed()) await task();
    });
    const databaseUrl = options.databaseUrl ?? (await ownDatabase(cleanup));
    const token = `cluster-token-${randomBytes(24).toString('base64url')}`;
    const secretKey = randomBytes(32).toString('base64');
    const addresses = ownAddresses(count);
    const ports = await portsOn(addresses[0] ?? '');
    const folder = await tempDir(cleanup);
    const wires = { peer: [] as Wire[], database: [] as Wire[] };
    const nodes: ClusterNode[] = [];
    const nameOf = (port: number): string => {
      const pid = processOfSocket(
        port,
        nodes.map((node) => node.pid),
      );
      return nodes.find((node) => node.pid === pid)?.name ?? '';
    };
    for (const [at, address] of addresses.entries()) {
      const name = `n${at + 1}`;
      let url = databaseUrl;
      if (hasWires) {
        wires.peer.push(
          await Wire.open(
            cleanup,
            { host: address, port: ports.peerWire },
            { host: address, port: ports.node.peer },
            nameOf,
          ),
        );
        const { hostname, port } = new URL(databaseUrl);
        wires.database.push(
          await Wire.open(cleanup, { host: address, port: ports.databaseWire }, { host: hostname, port: Number(port) }),
        );
        url = databaseAt(databaseUrl, address, ports.databaseWire);
      }
      nodes.push(
        new ClusterNode(cleanup, {
          name,
          address,
          ports: ports.node,
          dataDir: join(folder, name),
          env: {
            POSTERN_DATABASE_URL: url,
            POSTERN_SECRET_KEY: secretKey,
            POSTERN_API_KEY: TEST_API_KEY,
            POSTERN_AUTHTOKEN: token,
            POSTERN_API_RATE_LIMIT: '0',
            POSTERN_SHUTDOWN_TIMEOUT: '2',
            POSTERN_TCP_PORTS: `${address}:${TCP_PORTS}`,
            POSTERN_NODE_NAME: name,
            POSTERN_PEER_LISTEN: `${address}:${ports.node.peer}`,
            ...(hasWires && { POSTERN_PEER_ADDRESS: `${address}:${ports.peerWire}` }),
            // The balancer's name is known to one node only: the others get it from the store.
            ...(at === 0 && { POSTERN_TUNNEL_NAMES: AGENTS_NAME }),
            POSTERN_TUNNEL_ADDRESS: `${address}:${ports.node.tunnel}`,
            ...env,
            ...envOf?.(at),
          },
        }),
      );
    }
    const cluster = new Cluster(nodes, { token, databaseUrl, secretKey }, wires);
    holder.cluster = cluster;
    // The first creates the tables, the authorities and the first keys.
    await nodes[0]?.start({}, launcherOf?.(0));
    await Promise.all(nodes.slice(1).map((node, at) => node.start({}, launcherOf?.(at + 1))));
    await until('every node knows where agents can connect', () => cluster.#isKnownToAll());
    return cluster;
  }

  get first(): ClusterNode {
    return this.node(0);
  }

  node(at: number): ClusterNode {
    const node = this.nodes[at];
    if (node === undefined) throw new Error(`there is no node ${at}`);
    return node;
  }

  others(node: ClusterNode): readonly ClusterNode[] {
    return this.nodes.filter((each) => each !== node);
  }

  get ca(): readonly string[] {
    return this.nodes.find(({ ca }) => ca.length > 0)?.ca ?? [];
  }

  /**
   * An agent in this process, whose tunnels are bound. With one node it dials the address of that node, as in the
   * how-to; with several, a name of all of them.
   */
  async agent(tunnels: readonly TunnelSpec[], { at = [this.first], ...fields }: ClusterAgentOptions = {}) {
    const [only] = at;
    const agent = startAgent({
      authtoken: this.token,
      ca: this.ca,
      ...(only !== undefined && at.length === 1
        ? { serverAddr: only.tunnelAddr }
        : { serverAddr: `${AGENTS_NAME}:${this.first.ports.tunnel}`, lookup: lookupOf(at) }),
      ...fields,
      tunnels,
    });
    this.#agents.add(agent);
    agent.on('status', ({ status }) => {
      if (status === 'stopped') this.#agents.delete(agent);
    });
    await agent.ready;
    return agent;
  }

  async closeAgents(): Promise<void> {
    await Promise.all([...this.#agents].map((agent) => agent.close()));
  }

  /** Both connections between two nodes. Needs `hasWires`. */
  setLink(one: ClusterNode, other: ClusterNode, state: WireState): void {
    this.#wire(this.#peerWires, other).set(one.name, state);
    this.#wire(this.#peerWires, one).set(other.name, state);
  }

  delayLink(one: ClusterNode, other: ClusterNode, ms: number): void {
    this.#wire(this.#peerWires, other).delay(one.name, ms);
    this.#wire(this.#peerWires, one).delay(other.name, ms);
  }

  /** The node's connections to the database. Needs `hasWires`. */
  setDatabaseLink(node: ClusterNode, state: WireState): void {
    this.#wire(this.#databaseWires, node).set('', state);
  }

  /** Waits until every one of these nodes lists all tunnels of the agent. */
  async visible(agent: AgentHandle, nodes: readonly ClusterNode[] = this.nodes): Promise<void> {
    const ids = agent.tunnels.map(({ id }) => id);
    for (const node of nodes) {
      await until(`${node.name} lists ${ids.join(', ')}`, async () => {
        const listed = await listedIds(node, 'tunnels');
        return ids.every((id) => id === null || listed.has(id));
      });
    }
  }

  /** A node that has just started names itself to agents a moment before the others read about it. */
  async #isKnownToAll(): Promise<boolean> {
    const lists = await Promise.all(this.nodes.map((node) => node.api('GET', '/nodes')));
    const seen = lists.map(({ nodes }: { readonly nodes: readonly ListedNode[] }) =>
      nodes
        .map(({ id, roles }) => `${id} ${roles.join(' ')}`)
        .toSorted()
        .join(),
    );
    return lists.every(({ nodes }) => nodes.length >= this.nodes.length) && new Set(seen).size === 1;
  }

  #wire(wires: readonly Wire[], node: ClusterNode): Wire {
    const wire = wires[this.nodes.indexOf(node)];
    if (wire === undefined) throw new Error('the cluster was opened without wires');
    return wire;
  }
}

function lookupOf(nodes: readonly ClusterNode[]): NonNullable<AgentOptions['lookup']> {
  return (_name, { all }, done) => {
    const addresses = nodes.map(({ address }) => ({ address, family: 4 }));
    if (all === true) done(null, addresses);
    else done(null, addresses[0]?.address ?? '', 4);
  };
}

/** Ids of all pages of a list. */
export async function listedIds(node: ClusterNode, list: string): Promise<ReadonlySet<string>> {
  const ids: string[] = [];
  let next: string | null = `/${list}?limit=100`;
  while (next !== null) {
    const page: { readonly [name: string]: unknown; readonly next_page_uri: string | null } = await node.api(
      'GET',
      next,
    );
    ids.push(...(page[list] as readonly { readonly id: string }[]).map(({ id }) => id));
    next = page.next_page_uri === null ? null : pathOf(page.next_page_uri);
  }
  return new Set(ids);
}

/** Fails with a message when it does not become true in time. Errors count as not yet. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<number> {
  const began = performance.now();
  let last: unknown;
  for (;;) {
    try {
      if (await isSo()) return performance.now() - began;
    } catch (error) {
      last = error;
    }
    if (performance.now() - began > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`, { cause: last });
    await sleep(20);
  }
}

function pathOf(uri: string): string {
  const { pathname, search } = new URL(uri);
  return `${pathname}${search}`;
}

function databaseAt(databaseUrl: string, hostname: string, port: number): string {
  const url = new URL(databaseUrl);
  url.hostname = hostname;
  url.port = String(port);
  return url.href;
}

async function ownDatabase(test: Cleanup): Promise<string> {
  const postgres = await startPostgres();
  const database = await freshDatabase(postgres);
  test.after(async () => {
    await database.drop();
    await postgres.stop();
  });
  return database.url;
}

interface ClusterPorts {
  readonly node: NodePorts;
  readonly peerWire: number;
  readonly databaseWire: number;
}

async function portsOn(address: string): Promise<ClusterPorts> {
  const [api = 0, edge = 0, edgeHttp = 0, tunnel = 0, peer = 0, peerWire = 0, databaseWire = 0] = await freePortsOn(
    address,
    7,
  );
  return { node: { api, edge, edgeHttp, tunnel, peer }, peerWire, databaseWire };
}
