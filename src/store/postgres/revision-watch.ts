import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { currentSchema } from '../sql/schema/migrations.ts';
import { type CurrentServer, refuseOtherServers, type ServerSurvey } from './current-server.ts';
import { loginChannelOf, TAKE_VERSION_LOCK, TRY_SERVER_LOCK } from './schema-locks.ts';
import { clientConfig, socketOf } from './server-pool.ts';

export interface RevisionWatchOptions {
  readonly server: CurrentServer;
  readonly survey: ServerSurvey;
  readonly channel: string;
  readonly pollIntervalMs: number;
  readonly readRevision: () => Promise<number>;
}

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

/**
 * Learns of revisions taken by other processes: from NOTIFY on its own connection, and from a poll, so that a lost
 * notification or connection costs only latency.
 *
 * States: connecting → listening → (connection lost) → waiting → connecting …; any → closed. The poll runs in all of
 * them.
 */
export class RevisionWatch {
  readonly #options: RevisionWatchOptions;
  /** In notifications of this process, which it ignores. */
  readonly processId = randomUUID();
  readonly #listeners = new Set<() => void>();
  readonly #loginListeners = new Set<() => void>();
  /** The newest revision announced to the listeners, whether or not they could read it. */
  #revision = 0;
  #applied: () => number = () => Number.POSITIVE_INFINITY;
  #polled: () => void = () => {};
  #client: pg.Client | null = null;
  #clientUrl = '';
  #retryMs = FIRST_RETRY_MS;
  #retryTimer: NodeJS.Timeout | null = null;
  #pollTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: RevisionWatchOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#schedulePoll();
    await this.#listen();
  }

  onForeignCommit(listener: () => void): void {
    this.#listeners.add(listener);
  }

  onForeignLogins(listener: () => void): () => void {
    this.#loginListeners.add(listener);
    return () => this.#loginListeners.delete(listener);
  }

  /** An announced revision may not have been read: the poll repeats until the followers have applied it. */
  compareWith(applied: () => number): void {
    this.#applied = applied;
  }

  /** Called after every successful poll. */
  onPolled(listener: () => void): void {
    this.#polled = listener;
  }

  /** Another history reuses revision numbers. */
  forget(): void {
    this.#revision = 0;
  }

  /** This process moved the store from `before` to `after`. `before` is new here if others wrote in between. */
  noteOwnCommit(before: number, after: number): void {
    this.#noteForeign(before);
    this.#revision = Math.max(this.#revision, after);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    if (this.#pollTimer !== null) clearTimeout(this.#pollTimer);
    await this.#options.survey.close();
    await this.#client?.end().catch(() => {});
  }

  #noteForeign(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  async #listen(): Promise<void> {
    const { server, channel } = this.#options;
    const { url } = server;
    // Waiting for a notification is not a query, so the query timeout does not apply.
    const client = new pg.Client({ ...clientConfig(server), pipeline: true } as pg.ClientConfig);
    client.on('error', () => {});
    client.once(
      'end',
      server.opened(url, () => socketOf(client).destroy()),
    );
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ channel: of, payload = '' }) => {
      if (of === channel) this.#noteForeign(Number(payload));
      else if (payload !== this.processId) for (const heard of this.#loginListeners) heard();
    });
    this.#client = client;
    this.#clientUrl = url;
    try {
      await client.connect();
      if (server.mustBeWritable) await refuseOtherServers(client, server, url);
      // In one round trip, and in this order: a server without the version lock counts as an older one, and another
      // that starts meanwhile would refuse to migrate.
      const [, , { rows }] = await Promise.all([
        client.query(`LISTEN "${channel}"; LISTEN "${loginChannelOf(channel)}"`),
        client.query(TAKE_VERSION_LOCK, [`/${currentSchema.version}`]),
        client.query<{ locked: boolean }>(TRY_SERVER_LOCK),
      ]);
      if (rows[0]?.locked !== true) throw new Error('a restore is in progress');
      this.#retryMs = FIRST_RETRY_MS;
    } catch {
      // Not connected yet, or no longer: treated like a lost connection.
      server.failed(url);
      this.#giveUp(client);
    }
  }

  /** Without waiting for a server that may be gone. */
  #giveUp(client: pg.Client): void {
    client.end().catch(() => {});
    this.#lost(client);
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client || this.#isClosed) return;
    this.#client = null;
    this.#retryTimer = setTimeout(() => void this.#listen(), this.#retryMs);
    this.#retryTimer.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #schedulePoll(): void {
    this.#pollTimer = setTimeout(() => void this.#poll(), this.#options.pollIntervalMs);
    this.#pollTimer.unref();
  }

  async #poll(): Promise<void> {
    // Not awaited: a server that is gone takes its time.
    void this.#options.survey.whenDue();
    try {
      const revision = await this.#options.readRevision();
      if (revision > this.#revision) this.#noteForeign(revision);
      else if (revision > this.#applied()) this.#tell();
      this.#polled();
      // The others have moved on after a failover: nobody notifies there.
      if (this.#client !== null && this.#clientUrl !== this.#options.server.url) this.#giveUp(this.#client);
    } catch {
      // The database is unavailable; current callers get an error, and the next poll retries.
    }
    if (!this.#isClosed) this.#schedulePoll();
  }
}
