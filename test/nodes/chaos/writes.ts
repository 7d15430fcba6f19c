import { type Answer, ApiConnection } from '../../support/api-connection.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import { type Cluster, listedIds } from '../../support/cluster.ts';
import type { Random } from '../../support/random.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';
import type { Ledger } from './ledger.ts';

const TIMEOUT_MS = 10_000;

/** Writes through any node. A write is repeated at the next node only when the connection was refused. */
export class Writes {
  /** Ids that a node has acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #cluster: Cluster;
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #connections = new Map<ClusterNode, ApiConnection>();
  #count = 0;

  constructor(cluster: Cluster, ledger: Ledger, random: Random) {
    this.#cluster = cluster;
    this.#ledger = ledger;
    this.#random = random;
  }

  async once(): Promise<void> {
    this.#count += 1;
    const body = { description: `write ${this.#count}` };
    for (const node of this.#random.shuffled(this.#cluster.nodes)) {
      if (this.#ledger.down.includes(node)) continue;
      try {
        const answer = await within(TIMEOUT_MS, this.#connection(node).send('POST', '/ip_policies', body));
        if (answer.status === 201) {
          this.acknowledged.push(answer.body.id);
          this.#ledger.ok('write');
        } else this.#ledger.failed('write', `${node.name}: ${answer.status} ${answer.body?.error_code}`, answer.status);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') continue;
        this.#ledger.failed('write', `${node.name}: ${(error as Error).message}`);
        return;
      }
    }
    this.#ledger.failed('write', 'no node accepts connections');
  }

  /** Acknowledged writes that this node does not have. */
  async lost(node: ClusterNode): Promise<readonly string[]> {
    const listed = await listedIds(node, 'ip_policies');
    return this.acknowledged.filter((id) => !listed.has(id));
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  #connection(node: ClusterNode): ApiConnection {
    let connection = this.#connections.get(node);
    if (connection === undefined) {
      connection = new ApiConnection(`${node.address}:${node.ports.api}`, TEST_API_KEY);
      this.#connections.set(node, connection);
    }
    return connection;
  }
}

async function within(ms: number, answer: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    answer.catch(() => {});
  }
}
