import type { Cleanup } from './cleanup.ts';
import { execute, freshDatabase, type PostgresServer } from './postgres.ts';

/** A database that can be replaced by an earlier copy of itself, like a failover to a lagging standby. */
export interface RewoundDatabase {
  readonly url: string;
  /** Copies its current state; nobody may be connected. Returns the address of the copy. */
  snapshot(): Promise<string>;
  /** Closes all connections and puts the copy in its place. */
  rewind(): Promise<void>;
}

export async function rewoundDatabase(test: Cleanup, server: PostgresServer): Promise<RewoundDatabase> {
  const { url } = await freshDatabase(server);
  const name = new URL(url).pathname.slice(1);
  const [copy, lost] = [`${name}_copy`, `${name}_lost`];
  return {
    url,
    snapshot: async () => {
      await execute(server.url, `CREATE DATABASE ${copy} TEMPLATE ${name}`);
      return url.replace(name, copy);
    },
    rewind: async () => {
      test.after(async () => {
        for (const each of [name, lost]) await execute(server.url, `DROP DATABASE IF EXISTS ${each} WITH (FORCE)`);
      });
      await execute(server.url, `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
      await execute(
        server.url,
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`,
      );
      await execute(server.url, `ALTER DATABASE ${name} RENAME TO ${lost}`);
      await execute(server.url, `ALTER DATABASE ${copy} RENAME TO ${name}`);
    },
  };
}
