import { type Answer, ApiConnection } from '../../support/api-connection.ts';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import type { Cluster } from '../../support/cluster.ts';
import type { Random } from '../../support/random.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';

/** One attempt to change the document. Every value is written at most once. */
export interface Change {
  readonly client: number;
  readonly startMs: number;
  /** Null: there was no answer, and nobody knows whether it happened. */
  readonly endMs: number | null;
  readonly expected: string;
  readonly written: string;
  readonly outcome: 'changed' | 'conflict' | 'unknown';
}

/** Many clients change one document through any node, each with the ETag that it read at any other node. */
export class ContestedDocument {
  readonly changes: Change[] = [];
  /** Values that somebody read and that nobody had written. */
  readonly strange: string[] = [];
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #path: string;
  readonly #written = new Set(['first']);
  readonly #connections = new Map<ClusterNode, ApiConnection>();
  #count = 0;

  private constructor(cluster: Cluster, random: Random, path: string) {
    this.#cluster = cluster;
    this.#random = random;
    this.#path = path;
  }

  static async create(cluster: Cluster, random: Random): Promise<ContestedDocument> {
    const { id } = await cluster.first.api('POST', '/ip_policies', { description: 'first' });
    return new ContestedDocument(cluster, random, `/ip_policies/${id}`);
  }

  async change(client: number): Promise<void> {
    const read = await this.#send('GET').catch(() => null);
    const etag = read?.headers['etag'];
    if (read?.status !== 200 || typeof etag !== 'string') return;
    const expected: string = read.body.description;
    if (!this.#written.has(expected)) this.strange.push(expected);
    this.#count += 1;
    const written = `${client}-${this.#count}`;
    this.#written.add(written);
    const startMs = performance.now();
    const answer = await this.#send('PATCH', { description: written }, { 'if-match': etag }).catch(() => null);
    const outcome = outcomeOf(answer?.status);
    const endMs = outcome === 'unknown' ? null : performance.now();
    this.changes.push({ client, startMs, endMs, expected, written, outcome });
  }

  /** Acknowledged changes that are not among those that led to the present value. */
  async lost(node: ClusterNode): Promise<readonly string[]> {
    const { description } = await node.api('GET', this.#path);
    return changesNotIn(this.changes, description);
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  #send(method: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    const node = this.#random.one(this.#cluster.nodes);
    let connection = this.#connections.get(node);
    if (connection === undefined) {
      connection = new ApiConnection(`${node.address}:${node.ports.api}`, TEST_API_KEY);
      this.#connections.set(node, connection);
    }
    return connection.send(method, this.#path, body, headers);
  }
}

/** Also two acknowledged changes of one value: only one of them is on the way to the last. */
export function changesNotIn(changes: readonly Change[], last: string): readonly string[] {
  const byValue = new Map(changes.map((change) => [change.written, change]));
  const led = new Set<string>();
  for (let change = byValue.get(last); change !== undefined; change = byValue.get(change.expected)) {
    if (led.has(change.written)) return [`${change.written} is among its own predecessors`];
    led.add(change.written);
  }
  return changes
    .filter(({ outcome, written }) => outcome === 'changed' && !led.has(written))
    .map(({ expected, written }) => `${written} after ${expected}`);
}

function outcomeOf(status: number | undefined): Change['outcome'] {
  if (status === 200) return 'changed';
  return status === 412 ? 'conflict' : 'unknown';
}
