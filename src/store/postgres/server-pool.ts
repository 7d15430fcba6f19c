import pg from 'pg';
import { messageOf } from '../../lib/error-text.ts';
import { PosternError } from '../../lib/errors.ts';
import { storeErrors } from '../errors.ts';
import { addressOf, type CurrentServer } from './current-server.ts';
import { fromPostgresError } from './postgres-error.ts';
import { readOnlyDatabase, STANDBY_PROBLEM } from './refuse-standby.ts';

const POOL_IS_BUSY = 'timeout exceeded when trying to connect';

const servers = new WeakMap<pg.ClientBase, string>();

/** The URL that the connection leads to. */
export function serverOf(client: pg.ClientBase): string {
  return servers.get(client) ?? '';
}

/** A pool whose connections all lead to the current server. */
export class ServerPool extends pg.Pool {
  readonly server: CurrentServer;
  readonly #max: number;

  constructor(server: CurrentServer, config: pg.PoolConfig) {
    super({ ...config, Client: clientsOf(server) } as pg.PoolConfig);
    this.server = server;
    this.#max = config.max ?? 1;
  }

  /** A connection to the current server. Tries each server once. */
  async checkOut(): Promise<pg.PoolClient> {
    const failures: { readonly url: string; readonly error: unknown }[] = [];
    // Each connection of the pool may turn out to be one to an earlier server.
    for (let tries = 0; tries <= this.#max + this.server.count && failures.length < this.server.count; tries += 1) {
      const { url } = this.server;
      try {
        const client = await this.connect();
        if (serverOf(client) === this.server.url) return client;
        client.release(true);
      } catch (error) {
        failures.push({ url, error: fromPostgresError(error) });
        // The server is not to blame for it, and others would not be faster.
        if (error instanceof Error && error.message === POOL_IS_BUSY) break;
        this.server.failed(url);
      }
    }
    throw failures.length === 1 ? failures[0]?.error : allFailed(failures);
  }

  /** The connection is of no use, and neither are others to its server. */
  discard(client: pg.PoolClient): void {
    this.server.failed(serverOf(client));
    client.release(true);
  }
}

/** The pool makes its clients itself, from its own options. */
function clientsOf(server: CurrentServer): typeof pg.Client {
  return class extends pg.Client {
    constructor(config: pg.ClientConfig) {
      const { url } = server;
      super({ ...config, connectionString: url });
      servers.set(this, url);
      this.once(
        'end',
        server.opened(url, () => socketOf(this).destroy()),
      );
    }
  };
}

/** Not in the driver's types. */
export function socketOf(client: pg.Client): { destroy(): void } {
  return (client as unknown as { readonly connection: { readonly stream: { destroy(): void } } }).connection.stream;
}

function allFailed(failures: readonly { readonly url: string; readonly error: unknown }[]): Error {
  const problems = failures.map(({ url, error }) => `${addressOf(url)}: ${problemOf(error)}`).join('; ');
  const cause = failures.at(-1)?.error;
  if (failures.some(({ error }) => isReadOnly(error))) {
    return readOnlyDatabase(`no server in POSTERN_DATABASE_URL accepts writes (${problems})`, cause);
  }
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    `no server in POSTERN_DATABASE_URL could be used: ${problems}`,
    { cause },
  );
}

export function isReadOnly(error: unknown): boolean {
  return error instanceof PosternError && error.code === 'ERR_POSTERN_STORE_READ_ONLY';
}

function problemOf(error: unknown): string {
  if (isReadOnly(error)) return STANDBY_PROBLEM;
  const cause = error instanceof PosternError && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause);
}
