import { join } from 'node:path';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import type { RunningIdentityProvider } from '../../../tools/dev-idp/create-identity-provider.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { webSocketUpstream } from '../../support/clients/web-socket-upstream.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { Cluster } from '../../support/cluster.ts';
import { IdentityProvider } from '../../support/identity-provider.ts';
import { CLIENT_ID, CLIENT_SECRET } from '../../support/login-world.ts';
import { type MovableSystemClock, movableSystemClock } from '../../support/movable-system-clock.ts';
import { type OwnPostgres, startOwnPostgres } from '../../support/own-postgres.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { localHttp } from '../../tunnel/support/fault-world.ts';
import { OwnedNames } from './owned-names.ts';

const STEADY_AGENTS = 5;
const CONTENDED_NAMES = 2;

/** A name whose answer the test knows. */
export interface KnownSite {
  readonly host: string;
  /** Any of these. */
  readonly answers: readonly string[];
}

/** Three nodes, an OpenID provider and agents: everything that the load of a chaos run uses. */
export class ChaosWorld {
  readonly cluster: Cluster;
  readonly postgres: OwnPostgres;
  readonly provider: RunningIdentityProvider;
  readonly names: OwnedNames;
  readonly staticSite: KnownSite;
  readonly groupSite: KnownSite;
  readonly loginHost: string;
  readonly socketHosts: readonly string[];
  readonly tunnels: readonly KnownSite[];
  readonly contended: readonly string[];
  /** Agents whose name was refused for good. */
  readonly refusals: readonly string[];
  readonly #clocks: readonly (MovableSystemClock | null)[];
  readonly #contenders: (() => Promise<void>)[];

  private constructor(
    fields: Omit<ChaosWorld, 'clockOf' | 'changeOwner'> & {
      readonly clocks: readonly (MovableSystemClock | null)[];
      readonly contenders: (() => Promise<void>)[];
    },
  ) {
    this.cluster = fields.cluster;
    this.postgres = fields.postgres;
    this.provider = fields.provider;
    this.names = fields.names;
    this.staticSite = fields.staticSite;
    this.groupSite = fields.groupSite;
    this.loginHost = fields.loginHost;
    this.socketHosts = fields.socketHosts;
    this.tunnels = fields.tunnels;
    this.contended = fields.contended;
    this.refusals = fields.refusals;
    this.#clocks = fields.clocks;
    this.#contenders = fields.contenders;
  }

  static async open(test: Cleanup): Promise<ChaosWorld> {
    const tasks: (() => Promise<void>)[] = [];
    const cleanup: Cleanup = { after: (task) => void tasks.push(task) };
    test.after(async () => {
      for (const task of tasks.toReversed()) await task();
    });
    const postgres = await startOwnPostgres();
    cleanup.after(() => postgres.close());
    const { url } = await freshDatabase(postgres);
    const clockFolder = await tempDir(cleanup);
    const clocks = await Promise.all([1, 2, 3].map((n) => movableSystemClock(join(clockFolder, `n${n}`))));
    if (clocks.includes(null)) console.error('\n!! faketime is not installed: the clocks of nodes are NOT moved\n');
    const cluster = await Cluster.open(cleanup, {
      databaseUrl: url,
      hasWires: true,
      envOf: (at) => ({
        ...clocks[at]?.env,
        POSTERN_ACCESS_LOG: 'false',
      }),
    });
    const { first } = cluster;
    const names = new OwnedNames();
    const provider = await IdentityProvider.open(cleanup);

    const staticPort = await localHttp(cleanup, (_request, response) => response.end('static'));
    const backend = await first.staticBackend(`127.0.0.1:${staticPort}`);
    const staticSite = { host: (await first.site(backend)).host, answers: ['static'] };

    const login = await first.site(backend);
    await first.api('PUT', `${login.routePath}/oidc`, {
      issuer: provider.issuer,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      scopes: ['email'],
    });
    provider.setClients([
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        grant_types: ['authorization_code'],
        redirect_uris: [`https://${login.host}:${first.port}/.postern/callback`],
      },
    ]);

    const answering = (answer: string): Promise<number> =>
      localHttp(cleanup, (_request, response) => response.end(answer));
    const inTurn = (at: number): readonly ClusterNode[] =>
      cluster.nodes.map((_, offset) => cluster.node((at + offset) % cluster.nodes.length));

    const group = await first.api('POST', '/backends/tunnel_group', { labels: { app: 'chaos' } });
    const groupSite = { host: (await first.site(group.id)).host, answers: ['member 0', 'member 1'] };
    for (const [at, answer] of groupSite.answers.entries()) {
      await cluster.agent([{ labels: { app: 'chaos', member: String(at) }, addr: await answering(answer) }], {
        at: [cluster.node(at)],
      });
    }

    const sockets = await webSocketUpstream(cleanup);
    const tunnels: KnownSite[] = [];
    const socketHosts: string[] = [];
    for (let at = 0; at < STEADY_AGENTS; at += 1) {
      const host = `steady-${at}.localhost`;
      const answer = `token of ${host}`;
      const socketHost = `sockets-${at}.localhost`;
      await cluster.agent(
        [
          { proto: 'https', addr: await answering(answer), domain: host },
          { proto: 'https', addr: sockets.address, domain: socketHost },
        ],
        // As in the how-to: by the address of one node, or by a name of all.
        { at: at % 2 === 0 ? [cluster.node(at % cluster.nodes.length)] : inTurn(at) },
      );
      tunnels.push({ host, answers: [answer] });
      socketHosts.push(socketHost);
    }

    const contended = Array.from({ length: CONTENDED_NAMES }, (_, at) => `contended-${at}.localhost`);
    const contenders: (() => Promise<void>)[] = [];
    const refusals: string[] = [];
    for (const [at, host] of contended.entries()) {
      for (const [place, node] of inTurn(at).slice(0, 2).entries()) {
        const owner = `contender ${place} of ${host}`;
        const addr = await localHttp(cleanup, (_request, response) => {
          names.served(host, owner);
          response.end(owner);
        });
        contenders.push(
          await contender(cluster, { host, owner, addr, node, names, onRefused: (problem) => refusals.push(problem) }),
        );
      }
    }
    return new ChaosWorld({
      ...{ cluster, postgres, provider, names, staticSite, groupSite, socketHosts, tunnels, contended, refusals },
      loginHost: login.host,
      clocks,
      contenders,
    });
  }

  clockOf(node: ClusterNode): MovableSystemClock | null {
    return this.#clocks[this.cluster.nodes.indexOf(node)] ?? null;
  }

  /** One of the agents that want a contended name leaves and comes back, so that the name changes its owner. */
  async changeOwner(random: number): Promise<void> {
    await this.#contenders[Math.floor(random * this.#contenders.length)]?.();
  }
}

interface ContenderOptions {
  readonly host: string;
  readonly owner: string;
  readonly addr: number;
  readonly node: ClusterNode;
  readonly names: OwnedNames;
  readonly onRefused: (problem: string) => void;
}

/** An agent with one connection to one node. Returns a function that replaces it. */
async function contender(cluster: Cluster, options: ContenderOptions): Promise<() => Promise<void>> {
  const { host, owner, addr, node, names, onRefused } = options;
  const start = (): Promise<AgentHandle> =>
    cluster.agent([{ proto: 'https', addr, domain: host }], {
      at: [node],
      connections: 1,
      onEvent: (event) => {
        if (event.type === 'bound') names.bound(host, owner);
      },
    });
  let agent: AgentHandle | null = await start();
  return async () => {
    const old = agent;
    agent = null;
    await old?.close();
    // A node that is down delays it; the next fault does not wait for it.
    if (old !== null) {
      start().then(
        (started) => {
          agent = started;
        },
        (error: unknown) => onRefused(`${owner} was refused: ${String(error)}`),
      );
    }
  };
}
