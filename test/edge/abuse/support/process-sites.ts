import assert from 'node:assert/strict';
import { ApiConnection } from '../../../support/api-connection.ts';
import { EdgeSites } from '../../../support/edge-sites.ts';
import { TEST_API_KEY } from '../../../support/test-world.ts';

/**
 * Sites of a server in a process of its own. It calls the API over a new connection each time, as a health check does.
 */
export class ProcessSites extends EdgeSites {
  readonly #apiAddress: string;

  constructor({ api, edge }: { readonly api: string; readonly edge: string }, ca: readonly string[]) {
    super({ address: '127.0.0.1', port: portOf(edge), ca });
    this.#apiAddress = api;
  }

  async call(method: string, path: string, body?: unknown) {
    const connection = new ApiConnection(this.#apiAddress, TEST_API_KEY);
    try {
      return await connection.send(method, path, body);
    } finally {
      connection.close();
    }
  }

  async api(method: string, path: string, body?: unknown) {
    const answer = await this.call(method, path, body);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  }
}

export function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
