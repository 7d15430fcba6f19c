import type { DeadlineTicker } from './deadline-ticker.ts';
import type { Dial, Dialled } from './dial.ts';
import { type ConnectionOwner, Http1Connection } from './http1-connection.ts';
import { type ExchangeOwner, Http1Exchange } from './http1-exchange.ts';
import { isIdempotent } from './request-headers.ts';
import type { Upstream, UpstreamExchange, UpstreamHandler, UpstreamLimits, UpstreamRequest } from './upstream.ts';
import { failed } from './upstream-failure.ts';

const REQUEST = { alpn: ['http/1.1'], isStream: false } as const;
const SWITCH = { alpn: ['http/1.1'], isStream: true } as const;

export interface Http1UpstreamOptions {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly dial: Dial;
}

/** HTTP/1.1 on pooled connections. The most recently used one is taken first, so that surplus connections age out. */
export class Http1Upstream implements Upstream, ConnectionOwner, ExchangeOwner {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly #dial: Dial;
  readonly #idle: Http1Connection[] = [];
  #active = 0;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor({ limits, ticker, dial }: Http1UpstreamOptions) {
    this.limits = limits;
    this.ticker = ticker;
    this.#dial = dial;
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    const exchange = this.#begin(request, handler);
    // A request that may become a raw stream needs a dedicated connection.
    const connection = request.switchTo === null && this.#hasIdle() ? this.#idle.pop() : undefined;
    if (connection === undefined) this.#dialFor(exchange);
    else connection.start(exchange);
    return exchange;
  }

  /** Null when no idle connection is available. */
  sendOnIdle(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange | null {
    if (request.switchTo !== null || !this.#hasIdle()) return null;
    return this.send(request, handler);
  }

  /** On a connection that the caller has made. */
  sendOn(dialled: Dialled, request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    const exchange = this.#begin(request, handler);
    new Http1Connection(dialled, this).start(exchange);
    return exchange;
  }

  drain(): Promise<void> {
    if (this.#drained === null) {
      this.#drained = Promise.withResolvers();
      for (const connection of this.#idle.splice(0)) connection.destroy();
      if (this.#active === 0) this.#drained.resolve();
    }
    return this.#drained.promise;
  }

  stats(): { readonly idle: number; readonly active: number } {
    return { idle: this.#idle.length, active: this.#active };
  }

  onReusable(connection: Http1Connection): boolean {
    if (this.#drained !== null || this.#idle.length >= this.limits.maxIdleConnections) return false;
    this.#idle.push(connection);
    return true;
  }

  onClosed(connection: Http1Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  onOver(): void {
    this.#active -= 1;
    if (this.#active === 0) this.#drained?.resolve();
  }

  /**
   * RFC 9112 §9.3.1: the upstream may close a kept connection just as a request is sent on it. Only an idempotent
   * request whose body is still available is sent again, and only once.
   */
  retries(exchange: Http1Exchange): boolean {
    if (!exchange.isOnKeptConnection || exchange.hasRetried || exchange.body?.isConsumed === true) return false;
    if (!isIdempotent(exchange.request.method)) return false;
    exchange.hasRetried = true;
    this.#dialFor(exchange);
    return true;
  }

  #begin(request: UpstreamRequest, handler: UpstreamHandler): Http1Exchange {
    const exchange = new Http1Exchange(this, request, handler);
    this.#active += 1;
    return exchange;
  }

  #hasIdle(): boolean {
    while (this.#idle.length > 0 && this.#idle.at(-1)?.isUsable !== true) this.#idle.pop();
    return this.#idle.length > 0;
  }

  #dialFor(exchange: Http1Exchange): void {
    exchange.connection = null;
    if (this.#drained !== null && !exchange.hasRetried) {
      const refusal = setImmediate(() => {
        exchange.end();
        exchange.handler.onFailure(failed('connect', 'draining', 'this upstream accepts no new requests', false));
      });
      exchange.cancelDial = () => clearImmediate(refusal);
      return;
    }
    exchange.cancelDial = this.#dial(exchange.request.switchTo === null ? REQUEST : SWITCH, (dialled, failure) => {
      exchange.cancelDial = null;
      if (dialled !== null) {
        this.#startOn(dialled, exchange);
        return;
      }
      exchange.end();
      if (failure !== null)
        exchange.handler.onFailure(exchange.hasRetried ? { ...failure, mayHaveBeenSent: true } : failure);
    });
  }

  /** Runs in a listener of the new connection, where no caller catches an exception. */
  #startOn(dialled: Dialled, exchange: Http1Exchange): void {
    const connection = new Http1Connection(dialled, this);
    try {
      connection.start(exchange);
    } catch (error) {
      connection.contain(error);
    }
  }
}
