import pg from 'pg';
import type { CurrentServer } from './current-server.ts';
import { readTimeline, type Timeline } from './former-primary.ts';
import { isReadOnlyClient, refuseStandbyClient } from './refuse-standby.ts';

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
