import { databaseServers } from '../../lib/net/database-url.ts';

/**
 * The server that new connections go to, of those in the URL. It changes when one cannot be reached or is read-only, so
 * that after a failover everything of this process meets at the new primary.
 */
export class CurrentServer {
  readonly count: number;
  readonly mustBeWritable: boolean;
  readonly #urls: readonly string[];
  readonly #open = new Set<{ readonly url: string; readonly destroy: () => void }>();
  #at = 0;

  constructor(url: string) {
    // The settings accept no other; a URL that tests pass goes to the driver as it is.
    const { urls, mustBeWritable } = databaseServers(url) ?? { urls: [url], mustBeWritable: false };
    this.#urls = urls;
    this.count = urls.length;
    this.mustBeWritable = mustBeWritable;
  }

  get url(): string {
    return this.#urls[this.#at] as string;
  }

  /** A connection to this server is open, until the returned function is called. `destroy` breaks it off. */
  opened(url: string, destroy: () => void): () => void {
    const connection = { url, destroy };
    this.#open.add(connection);
    return () => this.#open.delete(connection);
  }

  /**
   * A new connection proved that this server accepts writes. If it was promoted, those to the former primary are of no use,
   * and a query on one to a machine that is gone would wait for its timeout.
   */
  accepts(url: string): void {
    if (!this.mustBeWritable || url !== this.url) return;
    for (const connection of this.#open) if (connection.url !== url) connection.destroy();
  }

  /** Breaks off all connections: a machine that is gone would never confirm their end. */
  breakOff(): void {
    for (const { destroy } of this.#open) destroy();
  }

  /** Moves on, unless another connection already has. */
  failed(url: string): void {
    if (url === this.url) this.#at = (this.#at + 1) % this.count;
  }
}

/** Host and port, for messages. */
export function addressOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'the database';
}
