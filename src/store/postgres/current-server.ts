import { databaseServers } from '../../lib/net/database-url.ts';
import { formerPrimary, type Timeline } from './former-primary.ts';

/**
 * The server that new connections go to, of those in the URL. It changes when one cannot be reached or is read-only, so
 * that after a failover everything of this process meets at the new primary. It never goes back to a server that another
 * one has replaced: a former primary that came back without being fenced accepts writes, and nobody would ever see them.
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
   * A new connection proved that this server accepts writes. If it was promoted, those to the former primary are of no use,
   * and a query on one to a machine that is gone would wait for its timeout. Throws if it is itself the former primary.
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
