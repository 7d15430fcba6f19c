import pg from 'pg';
import { messageOf } from '../../kit/error-text.ts';
import { PosternError } from '../../kit/errors.ts';
import { storeErrors } from '../errors.ts';
import { addressOf, CurrentServer, readOnlyDatabase, refuseOtherServers, STANDBY_PROBLEM } from './current-server.ts';
import { fromPostgresError } from './postgres-error.ts';

const POOL_IS_BUSY = 'timeout exceeded when trying to connect';

const servers = new WeakMap<pg.ClientBase, string>();

/** The URL that the connection leads to. */
function serverOf(client: pg.ClientBase): string {
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

const CONNECT_TIMEOUT_MS = 5_000;
/** Shorter when there is another server to try. */
const CONNECT_TO_ONE_OF_SEVERAL_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 10_000;
/** Shorter than the statement timeout, so that the message names the lock. */
const LOCK_TIMEOUT_MS = 8_000;
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;
/** Client-side timeout, for a server or network that does not respond at all. */
const QUERY_TIMEOUT_MS = 15_000;
const KEEP_ALIVE_DELAY_MS = 10_000;

const INT8 = 20;

/**
 * A database with `synchronous_commit = off` responds before it has written: acknowledged writes could be lost.
 * Stricter settings than `on` (`remote_apply`) are the operator's choice and stay.
 */
const WAIT_FOR_DISK =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/** Bounds every lock and connection, whichever side forgets the other. */
export function clientConfig({ url, count }: Pick<CurrentServer, 'url' | 'count'>): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: 'postern',
    connectionTimeoutMillis: count > 1 ? CONNECT_TO_ONE_OF_SEVERAL_MS : CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: {
      // Revisions and milliseconds stay below 2^53; as strings they would compare wrongly.
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  };
}

/**
 * For renewals that are useless later: the server gives up before the client, which gives up before the next but one. A
 * node that is frozen or cut off between a renewal and its commit must not keep its own row locked.
 */
const URGENT: pg.ClientConfig = {
  // A new connection takes five round trips or more.
  connectionTimeoutMillis: 2_500,
  statement_timeout: 900,
  lock_timeout: 800,
  idle_in_transaction_session_timeout: 1_000,
  query_timeout: 1_000,
};

/** One connection for this node's own lease, two for those of peers that cannot reach the database. */
const URGENT_CONNECTIONS = 3;

export function createUrgentPool(server: CurrentServer): ServerPool {
  return createPool(server, URGENT_CONNECTIONS, URGENT);
}

/** `server` is shared by everything in this process that connects to the same database. */
export function createPool(server: CurrentServer | string, max: number, config: pg.ClientConfig = {}): ServerPool {
  const current = typeof server === 'string' ? new CurrentServer(server) : server;
  // The pool waits for it; its types do not say so.
  const onConnect = (client: pg.ClientBase): unknown => prepareSession(client, current);
  const pool = new ServerPool(current, {
    ...clientConfig(current),
    ...config,
    max,
    pipeline: true,
    onConnect,
  } as pg.PoolConfig);
  // The next query detects a lost connection, and idle ones are replaced. Without listeners these events would end the
  // process: the pool's for idle clients, the client's own for those in use.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function prepareSession(client: pg.ClientBase, server: CurrentServer): Promise<void> {
  // Sent together: a new connection has taken enough round trips already.
  const checked = server.mustBeWritable ? refuseOtherServers(client, server, serverOf(client)) : null;
  await Promise.all([client.query(WAIT_FOR_DISK), checked]);
}
