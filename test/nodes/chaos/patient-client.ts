import { Agent, type RequestOptions, request } from 'node:https';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import type { Cluster } from '../../support/cluster.ts';
import type { Random } from '../../support/random.ts';

export interface ClientAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly node: ClusterNode;
}

/**
 * What clients with several addresses of a name do: the next after a refused connection, and after a second without an
 * answer.
 */
const ELSEWHERE_AFTER_MS = 1000;

export class ClientFailure extends Error {}

/** Sends safe requests to the nodes in turn, and keeps connections. */
export class PatientClient {
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #agents = new Map<ClusterNode, Agent>();

  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster;
    this.#random = random;
  }

  /** Fails when the last node did not answer either. */
  async get(host: string, path = '/', options: RequestOptions = {}): Promise<ClientAnswer> {
    const problems: string[] = [];
    for (const node of this.#random.shuffled(this.#cluster.nodes)) {
      try {
        return await this.getFrom(node, host, path, options);
      } catch (error) {
        problems.push(`${node.name}: ${(error as NodeJS.ErrnoException).code ?? ''} ${(error as Error).message}`);
      }
    }
    throw new ClientFailure(problems.join(', '));
  }

  /** One attempt at one node. */
  getFrom(node: ClusterNode, host: string, path = '/', options: RequestOptions = {}): Promise<ClientAnswer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...node.tlsOptions(host),
          ca: [...this.#cluster.ca],
          agent: this.#agentFor(node),
          path,
          ...options,
          headers: { host: `${host}:${node.port}`, ...(options.headers as object) },
        } as RequestOptions,
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => {
            text += part;
          });
          response.on('error', reject);
          response.on('end', () => {
            clearTimeout(timer);
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, node });
          });
        },
      );
      const timer = setTimeout(() => sent.destroy(new Error('no answer')), ELSEWHERE_AFTER_MS);
      sent.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      sent.end();
    });
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #agentFor(node: ClusterNode): Agent {
    let agent = this.#agents.get(node);
    if (agent === undefined) {
      agent = new Agent({ keepAlive: true, maxSockets: 32, scheduling: 'fifo' });
      this.#agents.set(node, agent);
    }
    return agent;
  }
}
