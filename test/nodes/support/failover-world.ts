import { setTimeout as sleep } from 'node:timers/promises';
import { ApiConnection } from '../../support/api-connection.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { Cluster, until } from '../../support/cluster.ts';
import { type OwnPostgres, type Standby, startOwnPostgres } from '../../support/own-postgres.ts';
import { execute, freshDatabase } from '../../support/postgres.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';

/** What a client may be answered while no server accepts writes. */
export const AWAY = /^503 ERR_POSTERN_STORE_(UNAVAILABLE|READ_ONLY|WENT_BACK): /;
export const LOST_COMMITS =
  'the database lost commits that this node has seen: reloading all configuration, logins and claims. Writes are rejected until the reload is complete. Repeat the lost writes';

export interface FailoverOptions {
  readonly nodes?: number;
  /** The primary acknowledges a commit only when the standby has it. */
  readonly isSynchronous: boolean;
}

/** Nodes whose URL names a primary and its streaming standby. */
export class FailoverWorld {
  readonly cluster: Cluster;
  readonly primary: OwnPostgres;
  readonly standby: Standby;
  readonly database: string;
  readonly writers: FailoverWriters;

  private constructor(cluster: Cluster, primary: OwnPostgres, standby: Standby, database: string) {
    this.cluster = cluster;
    this.primary = primary;
    this.standby = standby;
    this.database = database;
    this.writers = new FailoverWriters(cluster.nodes);
  }

  static async open(test: Cleanup, { nodes = 2, isSynchronous }: FailoverOptions): Promise<FailoverWorld> {
    const tasks: (() => Promise<void>)[] = [];
    const opened: { world?: FailoverWorld } = {};
    test.after(async () => {
      await opened.world?.writers.stop();
      for (const task of tasks.toReversed()) await task();
    });
    const primary = await startOwnPostgres();
    tasks.push(() => primary.close());
    const { url } = await freshDatabase(primary);
    const standby = await primary.addStandby();
    if (isSynchronous) {
      await execute(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
      await execute(primary.url, 'SELECT pg_reload_conf()');
    }
    const database = new URL(url).pathname;
    const hosts = [primary.url, standby.url].map((each) => new URL(each).host).join(',');
    const databaseUrl = `postgres://postgres@${hosts}${database}`;
    const cluster = await Cluster.open({ after: (task) => void tasks.push(task) }, { nodes, databaseUrl });
    opened.world = new FailoverWorld(cluster, primary, standby, database);
    return opened.world;
  }

  /** The standby stays as it is from now on, and the primary does not wait for it. */
  async stopReplication(): Promise<void> {
    await execute(this.standby.url, "ALTER SYSTEM SET primary_conninfo = ''");
    await execute(this.standby.url, 'SELECT pg_reload_conf()');
    await until('nothing is replicated', () =>
      // Fails with "division by zero" until then.
      execute(this.primary.url, 'SELECT 1 / (1 - count(*)) FROM pg_stat_replication').then(() => true),
    );
  }

  on(server: { readonly url: string }): string {
    const url = new URL(server.url);
    url.pathname = this.database;
    return url.href;
  }
}

export interface FailedWrite {
  readonly node: string;
  readonly atMs: number;
  readonly outcome: string;
}

/** Clients that create policies through every node, and never send one twice. */
export class FailoverWriters {
  readonly acknowledged: { readonly id: string; readonly node: string; readonly atMs: number }[] = [];
  readonly failed: FailedWrite[] = [];
  /** The slowest answer of any kind. */
  slowestMs = 0;
  readonly #nodes: readonly ClusterNode[];
  readonly #perNode: number;
  readonly #runs: Promise<void>[] = [];
  readonly #connections: ApiConnection[] = [];
  #isOver = false;

  constructor(nodes: readonly ClusterNode[], perNode = 2) {
    this.#nodes = nodes;
    this.#perNode = perNode;
  }

  start(): this {
    for (const node of this.#nodes) {
      for (let at = 0; at < this.#perNode; at += 1) this.#runs.push(this.#write(node));
    }
    return this;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#runs);
    for (const connection of this.#connections) connection.close();
  }

  /**
   * Waits until every node has acknowledged this many writes that began from now on. Returns the time of the slowest
   * node.
   */
  async more(count: number, withinMs = 60_000): Promise<number> {
    const sinceMs = performance.now();
    const written = (node: ClusterNode): number =>
      this.acknowledged.filter((write) => write.node === node.name && write.atMs >= sinceMs).length;
    return until(
      `every node acknowledges ${count} writes`,
      () => this.#nodes.every((node) => written(node) >= count),
      withinMs,
    );
  }

  async #write(node: ClusterNode): Promise<void> {
    const api = new ApiConnection(`${node.address}:${node.ports.api}`, TEST_API_KEY);
    this.#connections.push(api);
    while (!this.#isOver) {
      const beganMs = performance.now();
      try {
        const { status, body } = await api.send('POST', '/ip_policies', { description: 'failover' });
        if (status === 201) this.acknowledged.push({ id: body.id, node: node.name, atMs: beganMs });
        else
          this.failed.push({ node: node.name, atMs: beganMs, outcome: `${status} ${body?.error_code}: ${body?.msg}` });
      } catch (error) {
        this.failed.push({ node: node.name, atMs: beganMs, outcome: (error as Error).message });
      }
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganMs);
      await sleep(10);
    }
  }
}

/** 0: no answer, for example because the name is unknown. */
export function statusOf(node: ClusterNode, host: string): Promise<number> {
  return node.ask(host).then(
    ({ status }) => status,
    () => 0,
  );
}
