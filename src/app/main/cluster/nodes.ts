import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../../kit/clock.ts';
import { PosternError } from '../../../kit/errors.ts';
import { findingTable } from '../../../kit/findings.ts';
import { loadPart } from '../../../kit/load-part.ts';
import { formatListenAddress, type ListenAddress } from '../../../kit/net/listen-address.ts';
import { createKsuidSource } from '../../../kit/text/ksuid.ts';
import { PEER_AUTHORITY_KIND, storedAuthorities } from '../../../proxy/pki/server-internal-ca.ts';
import type { OwnThreads } from '../../../proxy/telemetry/other-nodes.ts';
import { InstallationRequests } from '../../../proxy/telemetry/requests/installation-requests.ts';
import { RequestHistory } from '../../../proxy/telemetry/requests/request-history.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import { NodeLinks } from '../../../tunnel/nodes/links/node-links.ts';
import type { AgreedFacts } from '../../../tunnel/nodes/membership/agreement.ts';
import type { NodeCounts } from '../../../tunnel/nodes/membership/known-nodes.ts';
import { linkRenewals } from '../../../tunnel/nodes/membership/link-renewals.ts';
import { localMembership, type Membership } from '../../../tunnel/nodes/membership/membership.ts';
import { NodeMembership } from '../../../tunnel/nodes/membership/node-membership.ts';
import { watchClockSkew } from '../../../tunnel/nodes/membership/shared-time.ts';
import { NodeNews } from '../../../tunnel/nodes/news/node-news.ts';
import type { NodeFacts } from '../../../tunnel/nodes/node.ts';
import { NodeQuestions } from '../../../tunnel/nodes/node-questions.ts';
import type { Config } from '../../settings/schema.ts';
import type { ListeningSockets } from '../sockets/listening-sockets.ts';
import { openPeerSocket, type PeerSocket, peerAddressOf } from '../sockets/peer-socket.ts';
import { programVersion } from '../version.ts';

interface NodesDependencies {
  readonly config: Config;
  readonly store: Store;
  readonly replica: Replica;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sockets: ListeningSockets;
  /** The process that this one takes over from; null: there is none. */
  readonly predecessor: object | null;
  /** Bounds for how long revocations may be unknown; by default the process's own clock. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Agents and tunnels that are connected to this node. */
  readonly counts: () => NodeCounts;
}

export interface OpenedNodes {
  readonly membership: Membership;
  /** Null: this node has no peer listener. */
  readonly links: NodeLinks | null;
  readonly peerAddress: ListenAddress | null;
  /** What other nodes do; null: there are no others. */
  readonly news: NodeNews | null;
  /** Links to the other nodes. Everything that they may call must be registered by then. */
  start(): void;
  /** Other nodes name this one to agents from now on. */
  acceptAgents(): Promise<void>;
  /** The process before this one is gone: other nodes reach this one at the configured address too. */
  takePeerSocket(): Promise<void>;
  /** The other nodes hear of it at once, and take over. */
  leave(): Promise<void>;
  /** Streams of other nodes may finish. */
  drain(timeoutMs: number): Promise<void>;
}

const DEFAULT_PEER_LISTEN: ListenAddress = { host: '127.0.0.1', port: 7445 };
const MAX_NAME = 64;

const LOSS_ADVICE = 'do what the message says, then restart the server: the problem ends with it';

const { found } = findingTable('nodes', {
  commits_lost: {
    level: 'problem',
    text: ({ loss }: { readonly loss: string }) => loss,
    advice: LOSS_ADVICE,
  },
  database_went_back: {
    level: 'problem',
    text: ({ nowMs }: { readonly nowMs: number }) =>
      `the database went back at ${new Date(nowMs).toISOString()} and lost commits that this node had seen: a standby without them was promoted, or an earlier state was restored. Compare the newest changes ("postern changes") with what was intended, and repeat those that are missing`,
    advice: LOSS_ADVICE,
  },
});

/** This process as a node of the installation: alone on SQLite, linked with the others on PostgreSQL. */
export async function openNodes(deps: NodesDependencies): Promise<OpenedNodes> {
  const { config, store, clock, logger: log, counts } = deps;
  const facts: NodeFacts = {
    id: `nd_${createKsuidSource()(clock.nowMs())}`,
    name: nodeName(config),
    version: programVersion(),
    roles: config.roles,
    region: config.region,
    startedAtMs: clock.nowMs(),
    peerAddress: null,
    tunnelAddress: config.tunnel_address === null ? null : formatListenAddress(config.tunnel_address),
  };
  if (config.database_url === null) {
    const only = localMembership(facts, clock, counts);
    if (store.loss !== null) only.setProblem('store', found('commits_lost', { loss: store.loss }));
    return alone(only);
  }
  const membership = new NodeMembership({
    ...{ store: store.nodes, facts, agreed: agreedFacts(config, store), counts, log },
    onAgreed: ({ secret_key_id: keyId }) => {
      if (keyId !== undefined) store.useSecretKey(keyId);
    },
  });
  store.onReset(() => membership.setProblem('store', found('database_went_back', { nowMs: clock.nowMs() })));
  const peers = await openPeers(deps, membership, config.database_url);
  try {
    await membership.join(peers === null ? null : peers.dialled);
  } catch (error) {
    await peers?.links.drain(0);
    throw error;
  }
  membership.start();
  const clocks = watchClockSkew(membership, clock);
  const news = new NodeNews({
    membership,
    links: peers?.links ?? null,
    store,
    replica: deps.replica,
    monotonicMs: deps.monotonicMs,
  });
  return {
    membership,
    links: peers?.links ?? null,
    peerAddress: peers?.address ?? null,
    news,
    start: () => peers?.links.start(),
    acceptAgents: () => membership.acceptAgents(),
    takePeerSocket: async () => {
      try {
        const dialled = await peers?.takeOver();
        if (dialled !== undefined && dialled !== null) await membership.movePeerAddress(dialled);
      } catch (err) {
        log.error({ err }, 'failed to listen at peer_listen: other nodes reach this one at another port');
      }
    },
    leave: () => {
      clocks.stop();
      news.close();
      return membership.leave();
    },
    drain: async (timeoutMs) => peers?.links.drain(timeoutMs),
  };
}

function alone(membership: Membership): OpenedNodes {
  return {
    ...{ membership, links: null, peerAddress: null, news: null, start: () => {} },
    acceptAgents: () => Promise.resolve(),
    takePeerSocket: () => Promise.resolve(),
    leave: () => Promise.resolve(),
    drain: () => Promise.resolve(),
  };
}

async function openPeers(deps: NodesDependencies, membership: NodeMembership, databaseUrl: string) {
  const { config, store, replica, clock, logger: log } = deps;
  if (config.peer_listen === 'off') return null;
  const { openPeerAuthority } = await loadPart(() => import('../../../proxy/pki/peer-authority.ts'));
  const authority = await openPeerAuthority(storedAuthorities(store, replica, PEER_AUTHORITY_KIND), log, clock.nowMs());
  const links = await NodeLinks.open({ membership, authority, readAgain: () => membership.beat(), log });
  membership.usePeers(linkRenewals(membership, links));
  const { address, takeOver } = await listen(deps, links);
  const configured = config.peer_address === null ? null : formatListenAddress(config.peer_address);
  const dialledAt = (at: ListenAddress): Promise<string> => peerAddressOf(at, databaseUrl);
  return {
    links,
    address,
    // The configured one leads to the process before this one, as long as that runs.
    dialled: takeOver === null && configured !== null ? configured : await dialledAt(address),
    takeOver: async () => {
      if (takeOver === null) return null;
      const at = await takeOver();
      return configured ?? (await dialledAt(at));
    },
  };
}

/** Several nodes on one machine may all have the default: the port need not be known, because others read it. */
async function listen(deps: NodesDependencies, { listener }: NodeLinks): Promise<PeerSocket> {
  const { config, sockets, logger, predecessor } = deps;
  const hasPredecessor = predecessor !== null;
  const wanted = config.peer_listen;
  if (wanted !== null && wanted !== 'off') return openPeerSocket(listener, wanted, sockets, hasPredecessor);
  try {
    return await openPeerSocket(listener, DEFAULT_PEER_LISTEN, sockets, hasPredecessor);
  } catch (error) {
    if (!(error instanceof PosternError)) throw error;
    const socket = await openPeerSocket(listener, { ...DEFAULT_PEER_LISTEN, port: 0 }, sockets, false);
    logger.info(
      { address: formatListenAddress(socket.address) },
      'the default peer_listen is in use: listening on a free port',
    );
    return socket;
  }
}

function agreedFacts(config: Config, store: Store): AgreedFacts {
  const [current = '', ...others] = store.secretKeyIds;
  return {
    domain: { value: config.domain, advice: 'set domain (POSTERN_DOMAIN) to the same value on all nodes' },
    secret_key_id: {
      value: current,
      accepted: others,
      advice: 'set secret_key (POSTERN_SECRET_KEY) to the same keys on all nodes',
    },
    ...(config.roles.includes('edge') && {
      edge_port: {
        value: String(config.edge_listen[0].port),
        advice: 'set edge_listen (POSTERN_EDGE_LISTEN) to the same port on all nodes',
      },
    }),
  };
}

/** The host name may contain anything. */
export function nodeName({ node_name: name }: Pick<Config, 'node_name'>): string {
  if (name !== null) return name;
  const host = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .slice(0, MAX_NAME);
  return host === '' ? 'node' : host;
}

export function addNodeMetrics(registry: Registry, { id, name, version }: NodeFacts): void {
  const info = new Gauge({
    name: 'postern_node_info',
    help: 'Always 1: id, name and version of this node. Join it with the other metrics of the process.',
    labelNames: ['id', 'node', 'version'],
    registers: [registry],
  });
  info.set({ id, node: name, version }, 1);
  const build = new Gauge({
    name: 'postern_build_info',
    help: 'Always 1: version of the program, version of Node.js, and the platform that it runs on.',
    labelNames: ['version', 'nodejs', 'platform', 'arch'],
    registers: [registry],
  });
  const { version: nodejs, platform, arch } = process;
  build.set({ version, nodejs: nodejs.slice(1), platform, arch }, 1);
}

export function addPeerMetrics(registry: Registry, links: NodeLinks | null): void {
  new Gauge({
    name: 'postern_peer_links',
    help: 'Other nodes that this one is linked to.',
    registers: [registry],
    collect() {
      this.set(links?.size ?? 0);
    },
  });
}

export interface OpenedRequests {
  readonly questions: NodeQuestions;
  /** This node alone. */
  readonly history: RequestHistory;
  /** Threads of this node that serve traffic. */
  readonly threads: OwnThreads;
  /** All nodes. */
  readonly requests: InstallationRequests;
}

/** The history of requests, here and on the other nodes. */
export function openRequests(config: Config, { membership, links }: OpenedNodes, threads: OwnThreads): OpenedRequests {
  const questions = new NodeQuestions(membership, links);
  const history = new RequestHistory({ maxRequests: config.request_history });
  return { questions, history, threads, requests: new InstallationRequests(history, questions, threads) };
}
