import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { EdgeSites } from './edge-sites.ts';
import { TestWorld, type WorldOptions } from './test-world.ts';

export type { AskOptions, EdgeAnswer } from './edge-clients.ts';
export { newHost, type Site } from './edge-sites.ts';

/** The whole server with an edge on port 0, trusted certificates, and clients that find every host there. */
export class EdgeWorld extends EdgeSites {
  readonly world: TestWorld;

  private constructor(world: TestWorld, ca: readonly string[], port = world.server.addresses.edge?.port ?? 0) {
    super({ address: '127.0.0.1', port, ca });
    this.world = world;
  }

  /** A server whose edge the test has assembled itself. */
  static over(world: TestWorld, port: number): EdgeWorld {
    return new EdgeWorld(world, trustIn(world.dataDir), port);
  }

  static async open(
    test: Cleanup,
    env: Readonly<Record<string, string>> = {},
    options: Omit<WorldOptions, 'env'> = {},
  ): Promise<EdgeWorld> {
    const holder: { world?: EdgeWorld } = {};
    // Before the server's own hook: it would wait for clients that are still connected.
    test.after(() => {
      holder.world?.disconnect();
      return Promise.resolve();
    });
    const world = await TestWorld.open(test, {
      ...options,
      env: {
        POSTERN_ROLES: 'api,edge',
        POSTERN_EDGE_LISTEN: '127.0.0.1:0',
        POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
        POSTERN_API_RATE_LIMIT: '0',
        POSTERN_SHUTDOWN_TIMEOUT: '1',
        ...env,
      },
    });
    const ca = trustIn(world.dataDir);
    const opened = new EdgeWorld(world, ca);
    holder.world = opened;
    return opened;
  }

  /** Calls the API, and fails unless it succeeds. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.world.api(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Text of the metrics page. */
  async metrics(): Promise<string> {
    return (await this.world.api('GET', '/metrics')).text;
  }
}

/** The trust of a client that trusts the internal authorities of a data directory. */
export function trustIn(dataDir: string): readonly string[] {
  const files = globSync('internal-ca/*/certificate.pem', { cwd: dataDir });
  return files.map((file) => readFileSync(join(dataDir, file), 'utf8'));
}
