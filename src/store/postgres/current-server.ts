import pg from 'pg';
import { databaseServers } from '../../kit/net/database-url.ts';
import { storeErrors } from '../errors.ts';
import { type Program, queryOne } from '../sql/statement.ts';

/** PostgreSQL counts the promotions of a cluster: every standby that becomes a primary begins the next timeline. */
interface Timeline {
  /** Copies of one database cluster have the same. */
  readonly cluster: string;
  readonly number: number;
}

/** A standby says what it has received. */
const TIMELINE = `SELECT (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
  CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS number`;

/** Null: the server does not say, as some hosted ones. */
async function readTimeline(client: pg.ClientBase): Promise<Timeline | null> {
  try {
    const { rows } = await client.query<Timeline>(TIMELINE);
    return rows[0] ?? null;
  } catch {
    return null;
  }
}

function formerPrimary(timeline: Timeline, newest: Timeline) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_UNAVAILABLE',
    `the database server is a former primary: it has timeline ${timeline.number}, and a standby was promoted to timeline ${newest.number}. Nothing was applied: start the new primary, and make this server its standby. If this is the server to use, stop the other one and restart Postern`,
  );
}

/**
 * The server that new connections go to, of those in the URL. It changes when one cannot be reached or is read-only, so
 * that after a failover everything of this process meets at the new primary. It never goes back to a server that
 * another one has replaced: a former primary that came back without being fenced accepts writes, and nobody would ever
 * see them.
 */
export class CurrentServer {
  /** In the given order. */
  readonly urls: readonly string[];
  readonly count: number;
  readonly mustBeWritable: boolean;
  readonly #open = new Set<{ readonly url: string; readonly destroy: () => void }>();
  #at = 0;
  #newest: Timeline | null = null;

  constructor(url: string) {
    // The settings accept no other; a URL that tests pass goes to the driver as it is.
    const { urls, mustBeWritable } = databaseServers(url) ?? { urls: [url], mustBeWritable: false };
    this.urls = urls;
    this.count = urls.length;
    this.mustBeWritable = mustBeWritable;
  }

  get url(): string {
    return this.urls[this.#at] as string;
  }

  /** A connection to this server is open, until the returned function is called. `destroy` breaks it off. */
  opened(url: string, destroy: () => void): () => void {
    const connection = { url, destroy };
    this.#open.add(connection);
    return () => this.#open.delete(connection);
  }

  /**
   * A new connection proved that this server accepts writes. If it was promoted, those to the former primary are of no
   * use, and a query on one to a machine that is gone would wait for its timeout. Throws if it is itself the former
   * primary.
   */
  accepts(url: string, timeline: Timeline | null): void {
    const newest = this.#newest;
    if (timeline !== null && newest !== null && this.isFormer(timeline)) throw formerPrimary(timeline, newest);
    this.note(timeline);
    if (url !== this.url) return;
    for (const connection of this.#open) if (connection.url !== url) connection.destroy();
  }

  /** Another server was promoted since. */
  isFormer(timeline: Timeline | null): boolean {
    const newest = this.#newest;
    if (timeline === null || newest === null) return false;
    return timeline.cluster === newest.cluster && timeline.number < newest.number;
  }

  /** A server has this timeline, so that every server with an earlier one is a former primary. */
  note(timeline: Timeline | null): void {
    if (timeline !== null && !this.isFormer(timeline)) this.#newest = timeline;
  }

  /** Breaks off all connections: a machine that is gone would never confirm their end. */
  breakOff(): void {
    for (const { destroy } of this.#open) destroy();
  }

  /** Moves on, unless another connection already has. */
  failed(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.count;
  }

  /** This server accepts writes, and the current one does not, or not those that count. */
  moveTo(url: string): void {
    this.#at = Math.max(0, this.urls.indexOf(url));
    for (const connection of this.#open) if (connection.url !== url) connection.destroy();
  }
}

/** Host and port, for messages. */
export function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the database';
}

const IS_READ_ONLY =
  "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS is_read_only";
export const STANDBY_PROBLEM = 'it is a standby, or default_transaction_read_only is on';

/** After a failover the address may still lead to the former primary, which can be read but not written. */
export function* refuseStandby(): Program<void> {
  const row = (yield* queryOne(IS_READ_ONLY)) as { readonly is_read_only?: unknown } | null;
  if (row?.is_read_only === true) throw readOnlyDatabase(STANDBY_PROBLEM);
}

/** The same for a new connection. */
async function refuseStandbyClient(client: pg.ClientBase): Promise<void> {
  if (await isReadOnlyClient(client)) throw readOnlyDatabase(STANDBY_PROBLEM);
}

async function isReadOnlyClient(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ readonly is_read_only: boolean }>(IS_READ_ONLY);
  return rows[0]?.is_read_only === true;
}

export function readOnlyDatabase(problem: string, cause?: unknown) {
  return storeErrors.create(
    'ERR_POSTERN_STORE_READ_ONLY',
    `the database is read-only: ${problem}. Nothing was applied: set POSTERN_DATABASE_URL to the primary, or promote this server`,
    { cause },
  );
}

const WITHIN_MS = 2_000;
/** A primary that was replaced while this process still reaches it is left within this time. */
const SURVEY_EVERY_MS = 10_000;

interface Surveyed {
  readonly url: string;
  readonly isReadOnly: boolean;
  readonly timeline: Timeline | null;
}

/**
 * Looks at all servers of the URL: two may accept writes at the same time, and the one that comes first may be a former
 * primary that was not fenced. The current server becomes one that no other has replaced.
 */
export class ServerSurvey {
  readonly #server: CurrentServer;
  #lastMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | null = null;

  constructor(server: CurrentServer) {
    this.#server = server;
  }

  /** Before the first connection, and then now and again. Never rejects. */
  async whenDue(): Promise<void> {
    if (this.#server.count === 1 || performance.now() - this.#lastMs < SURVEY_EVERY_MS) return;
    this.#running ??= this.#survey().finally(() => {
      this.#running = null;
      this.#lastMs = performance.now();
    });
    await this.#running;
  }

  async close(): Promise<void> {
    await this.#running;
  }

  async #survey(): Promise<void> {
    const server = this.#server;
    const found = (await Promise.all(server.urls.map(lookAt))).filter((each) => each !== null);
    for (const { timeline } of found) server.note(timeline);
    const usable = found.filter(({ isReadOnly, timeline }) => !isReadOnly && !server.isFormer(timeline));
    const [first] = usable;
    if (first !== undefined && !usable.some(({ url }) => url === server.url)) server.moveTo(first.url);
  }
}

/** A connection is used only if it leads to the server whose writes count. */
export async function refuseOtherServers(client: pg.ClientBase, server: CurrentServer, url: string): Promise<void> {
  const [timeline] = await Promise.all([readTimeline(client), refuseStandbyClient(client)]);
  server.accepts(url, timeline);
}

/** Null: it does not answer. */
async function lookAt(url: string): Promise<Surveyed | null> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'postern',
    connectionTimeoutMillis: WITHIN_MS,
    query_timeout: WITHIN_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return { url, isReadOnly: await isReadOnlyClient(client), timeline: await readTimeline(client) };
  } catch {
    return null;
  } finally {
    client.end().catch(() => {});
  }
}
