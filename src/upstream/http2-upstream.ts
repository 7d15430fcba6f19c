import type { HeaderList } from '../lib/http/header-values.ts';
import type { DeadlineTicker } from './deadline-ticker.ts';
import type { Dialled } from './dial.ts';
import { Http2Exchange, type Http2ExchangeOwner } from './http2-exchange.ts';
import { Http2Link } from './http2-link.ts';
import type { UpstreamExchange, UpstreamHandler, UpstreamLimits, UpstreamRequest } from './upstream.ts';

export interface Http2UpstreamOptions {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly authority: string;
  /** Sends a request again that a session refused unprocessed (RFC 9113 §8.7). */
  resend(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange;
}

/**
 * After a response that nghttp2 cannot read, which ends a session with all its streams. One page that an upstream answers
 * in this way must not disturb the others again and again.
 */
const APART_MS = 60_000;

/** Requests as streams on shared sessions. It receives its connections and makes none itself. */
export class Http2Upstream implements Http2ExchangeOwner<Http2Link> {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly ownHeaders: HeaderList = [];
  readonly #options: Http2UpstreamOptions;
  readonly #links: Http2Link[] = [];
  #active = 0;
  #apartUntilMs = 0;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(options: Http2UpstreamOptions) {
    this.limits = options.limits;
    this.ticker = options.ticker;
    this.#options = options;
  }

  /** Each request has a session of its own: another one would be lost with it. */
  get keepsApart(): boolean {
    return this.ticker.nowMs < this.#apartUntilMs;
  }

  adopt({ socket }: Dialled): void {
    const { authority, limits, ticker } = this.#options;
    const link = new Http2Link(socket, { authority, limits, ticker, onClosed: (closed) => this.#remove(closed) });
    this.#links.push(link);
    if (this.#drained !== null) link.retire();
  }

  /** Null when no session exists or none has room. */
  sendOnOpen(request: UpstreamRequest, handler: UpstreamHandler, isRetry: boolean): UpstreamExchange | null {
    const isApart = this.keepsApart;
    const link = this.#links.find(({ hasRoom, active }) => hasRoom && (!isApart || active === 0));
    if (link === undefined) return null;
    const exchange = new Http2Exchange(this, { request, handler, isRetry });
    exchange.start(link);
    this.#active += 1;
    return exchange;
  }

  resend(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    return this.sendOnOpen(request, handler, true) ?? this.#options.resend(request, handler);
  }

  onConnectionAuth(link: Http2Link): void {
    link.retire();
  }

  onOver(): void {
    this.#active -= 1;
    if (this.#active === 0) this.#drained?.resolve();
  }

  drain(): Promise<void> {
    if (this.#drained === null) {
      this.#drained = Promise.withResolvers();
      for (const link of [...this.#links]) link.retire();
      if (this.#active === 0) this.#drained.resolve();
    }
    return this.#drained.promise;
  }

  stats(): { readonly idle: number; readonly active: number } {
    return { idle: this.#links.filter((link) => link.hasRoom && link.active === 0).length, active: this.#active };
  }

  #remove(link: Http2Link): void {
    if (link.isUnreadable) this.#apartUntilMs = this.ticker.nowMs + APART_MS;
    const at = this.#links.indexOf(link);
    if (at !== -1) this.#links.splice(at, 1);
  }
}
