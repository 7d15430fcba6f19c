import type { NodeStore } from '../../../src/store/node-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { type AgentOptions, startAgent } from '../../../src/tunnel/agent/index.ts';
import type { Gateway } from '../../../src/tunnel/gateway/gateway.ts';
import type { OnlineTunnelTable } from '../../../src/tunnel/gateway/online-tunnel-table.ts';
import type {
  AnnouncedSession,
  AnnouncedTunnel,
  Announcer,
  RemoteDirectory,
} from '../../../src/tunnel/nodes/directory/announced.ts';
import { testAuthority } from '../../agent/support/fake-gateway.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { QUICK_TRIES } from '../../tunnel/support/fault-world.ts';
import { EMPTY_STORE, loneGateway } from '../../tunnel/support/lone-gateway.ts';
import type { DialledGateway } from '../../tunnel/support/raw-agent.ts';
import { CallNetwork } from './call-network.ts';
import { LeaseMembership } from './lease-membership.ts';

interface Announced {
  readonly sessions: Map<string, AnnouncedSession>;
  readonly tunnels: Map<string, AnnouncedTunnel>;
}

export interface ClusterNode {
  readonly id: string;
  readonly gateway: Gateway;
  readonly table: OnlineTunnelTable;
  readonly membership: LeaseMembership;
  readonly address: string;
  readonly announced: Announced;
  readonly published: Set<string>;
  readonly errors: string[];
  /** The node's database is away: every call fails. */
  isStoreAway: boolean;
  /** As kill -9: no link, no renewal, no store, no connection. */
  kill(): void;
  cutAgents(): void;
}

/** Several gateways with one real store, real agents, and calls between them in memory. */
export class GatewayCluster {
  readonly network = new CallNetwork();
  readonly nodes: ClusterNode[] = [];
  /** Credentials `cr_new…` exist once they are here and the gateway has read it. */
  readonly created = new Set<string>();
  #created: ReadonlySet<string> = new Set();
  readonly #deleted = new Set<string>();
  readonly #acls = new Map<string, readonly string[]>();
  readonly #listeners = new Set<(credentialId: string) => void>();
  readonly #test: Cleanup;
  readonly #store: Store;
  readonly #ca: string;
  static #started = 0;

  private constructor(test: Cleanup, store: Store, ca: string) {
    this.#test = test;
    this.#store = store;
    this.#ca = ca;
  }

  static async open(test: Cleanup, store: Store, size: number): Promise<GatewayCluster> {
    const cluster = new GatewayCluster(test, store, (await testAuthority()).certificatePem);
    for (let count = 0; count < size; count += 1) await cluster.start();
    for (const { membership } of cluster.nodes) await membership.renew();
    return cluster;
  }

  async start(): Promise<ClusterNode> {
    GatewayCluster.#started += 1;
    const id = `nd_${GatewayCluster.#started}`;
    const state = { isAway: false, isKilled: false };
    const store = gated(this.#store.nodes, state);
    const announced: Announced = { sessions: new Map(), tunnels: new Map() };
    const published = new Set<string>();
    const facts = {
      ...{ id, name: id, version: 'test', roles: ['gateway', 'edge'], region: 'test', startedAtMs: Date.now() },
      ...{ peerAddress: null, tunnelAddress: null as string | null },
    };
    const membership = new LeaseMembership(facts, store);
    const links = this.network.join(id);
    let lastId = 0;
    const lone = await loneGateway(this.#test, {
      bootId: id,
      presence: EMPTY_STORE,
      newId: (prefix) => {
        lastId += 1;
        return `${prefix}_${id}_${lastId}`;
      },
      credentials: {
        isCurrent: () => true,
        find: (token) => this.#credential(token === 'token' ? 'cr_1' : `cr_${token}`),
        get: (credentialId) => this.#credential(credentialId),
        refresh: () => {
          if (state.isAway) return Promise.reject(new Error('the database is away'));
          this.#created = new Set([...this.#created, ...this.created]);
          return Promise.resolve();
        },
        onChange: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
      },
      endpoints: {
        isCoveredByEdge: () => false,
        publish: (endpoint) => {
          published.add(endpoint.id);
          const { proto, host, port } = endpoint;
          const hostport = proto === 'tcp' ? `127.0.0.1:${port ?? 20_000 + published.size}` : `${host}:443`;
          return Promise.resolve({ ok: true, publicUrl: `${proto}://${host ?? hostport}`, hostport });
        },
        withdraw: (endpointId) => void published.delete(endpointId),
      },
      announcer: announcerOf(announced),
      cluster: { membership, links, directory: this.#directoryOf(id), store },
    });
    facts.tunnelAddress = lone.address;
    await membership.join();
    const node: ClusterNode = {
      ...{ id, gateway: lone.gateway, table: lone.table, membership, address: lone.address, announced, published },
      errors: lone.errors,
      get isStoreAway() {
        return state.isAway;
      },
      set isStoreAway(isAway) {
        state.isAway = isAway;
      },
      kill: () => {
        state.isKilled = true;
        membership.stop();
        this.network.isolate(id);
        lone.cut();
        lone.close();
      },
      cutAgents: lone.cut,
    };
    this.#test.after(async () => membership.stop());
    this.nodes.push(node);
    return node;
  }

  /** Every node hears of it. */
  deleteCredential(id: string): void {
    this.#deleted.add(id);
    for (const listener of this.#listeners) listener(id);
  }

  narrowCredential(id: string, acl: readonly string[]): void {
    this.#acls.set(id, acl);
    for (const listener of this.#listeners) listener(id);
  }

  #credential(id: string): { readonly id: string; readonly acl: readonly string[] } | null {
    const isKnown = !id.startsWith('cr_new') || this.#created.has(id);
    return isKnown && !this.#deleted.has(id) ? { id, acl: this.#acls.get(id) ?? [] } : null;
  }

  /** For an agent that does exactly what the test says. */
  dialled({ address }: ClusterNode): DialledGateway {
    const port = Number(address.slice(address.lastIndexOf(':') + 1));
    return { port, token: 'token', edge: { ca: [this.#ca] }, servername: 'gateway.test' };
  }

  agent(node: ClusterNode, options: Partial<AgentOptions>): ReturnType<typeof startAgent> {
    const agent = startAgent({
      serverAddr: node.address,
      servername: 'gateway.test',
      ca: this.#ca,
      authtoken: 'token',
      tunnels: [],
      timings: QUICK_TRIES,
      ...options,
    });
    this.#test.after(() => agent.close());
    return agent;
  }

  /** Nodes over which traffic for this tunnel can reach the agent now. */
  serving(tunnelId: string | null | undefined): readonly string[] {
    return this.nodes.filter(({ table }) => (table.get(tunnelId ?? '')?.link() ?? null) !== null).map(({ id }) => id);
  }

  /** Sessions that are served under this host now, on any node. */
  owners(host: string): ReadonlySet<string> {
    const owners = new Set<string>();
    for (const { table, announced, membership } of this.nodes) {
      if (membership.isPaused) continue;
      for (const { id, sessionId, endpoint } of announced.tunnels.values()) {
        if (endpoint?.host === host && (table.get(id)?.link() ?? null) !== null) owners.add(sessionId);
      }
    }
    return owners;
  }

  #directoryOf(own: string): RemoteDirectory {
    const others = (): ClusterNode[] =>
      this.nodes.filter(({ id }) => id !== own && this.network.isUp(own, id) && this.network.isUp(id, own));
    const session: RemoteDirectory['session'] = (sessionId) => {
      const found = others().flatMap(({ id, announced }) => {
        const one = announced.sessions.get(sessionId);
        return one === undefined ? [] : [{ id, one }];
      });
      const [best] = found.toSorted((a, b) => b.one.epoch - a.one.epoch);
      return best === undefined ? null : { session: best.one, holders: found.map(({ id }) => id) };
    };
    return {
      session,
      sessions: () => others().flatMap(({ announced }) => [...announced.sessions.values()]),
      tunnelsOf: (sessionId) => [
        ...new Map(
          others().flatMap(({ announced }) =>
            [...announced.tunnels.values()].filter((one) => one.sessionId === sessionId).map((one) => [one.id, one]),
          ),
        ).values(),
      ],
      nameHolder: (key) => {
        const host = key.slice(key.indexOf(' ') + 1);
        for (const { announced } of others()) {
          const tunnel = [...announced.tunnels.values()].find(({ endpoint }) => endpoint?.host === host);
          const home = tunnel && session(tunnel.sessionId)?.session.homeNodeId;
          if (tunnel !== undefined && home !== undefined) return { sessionId: tunnel.sessionId, nodeId: home };
        }
        return null;
      },
      onHomeLost: () => () => {},
    };
  }
}

function announcerOf({ sessions, tunnels }: Announced): Announcer {
  return {
    putSession: (session) => void sessions.set(session.id, session),
    removeSession: (id) => void sessions.delete(id),
    putTunnel: (tunnel) => void tunnels.set(tunnel.id, tunnel),
    removeTunnel: (id) => void tunnels.delete(id),
  };
}

/** The same store, which fails or never answers on request. */
function gated(store: NodeStore, state: { isAway: boolean; isKilled: boolean }): NodeStore {
  return new Proxy(store, {
    get: (target, name: keyof NodeStore) => {
      const method = target[name] as (...args: unknown[]) => Promise<unknown>;
      return (...args: unknown[]) => {
        if (state.isKilled) return new Promise(() => {});
        if (state.isAway) return Promise.reject(new Error('the database is away'));
        return method.apply(target, args);
      };
    },
  });
}
