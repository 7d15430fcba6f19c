import { SharedPlaces } from '../../kit/net/shared-places.ts';
import type { DeadlineTicker } from './deadline-ticker.ts';
import type { Dial, Dialled } from './dial.ts';
import { type ConnectionOwner, type ExchangeOwner, Http1Connection, Http1Exchange } from './http1-connection.ts';
import { isIdempotent } from './request-headers.ts';
import type {
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from './upstream.ts';
import { failed, UPSTREAM_SHORTAGE } from './upstream-failure.ts';

const REQUEST = { alpn: ['http/1.1'], isStream: false } as const;
const SWITCH = { alpn: ['http/1.1'], isStream: true } as const;

/**
 * Local ports for connections to one address: Linux takes them from 32,768 to 60,999. A request holds one as long as it
 * is in progress.
 */
const PORTS = 28_000;

export interface Http1UpstreamOptions {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly dial: Dial;
  /** Connections to all upstreams, which visitors share. Absent: there are enough. */
  readonly connections?: SharedPlaces | undefined;
}

/** Requests take time to arrive, and upstreams close connections a little early or late. */
const SAFE_PART = 3 / 4;

/** HTTP/1.1 on pooled connections. The most recently used one is taken first, so that surplus connections age out. */
export class Http1Upstream implements Upstream, ConnectionOwner, ExchangeOwner {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly #dial: Dial;
  readonly #idle: Http1Connection[] = [];
  /** Connections to this upstream in use, by visitor. */
  readonly #ports = new SharedPlaces(PORTS);
  readonly #connections: SharedPlaces | undefined;
  /** The shortest time after which it has closed an idle connection. */
  #closesAfterMs = Number.POSITIVE_INFINITY;
  #active = 0;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor({ limits, ticker, dial, connections }: Http1UpstreamOptions) {
    this.limits = limits;
    this.ticker = ticker;
    this.#dial = dial;
    this.#connections = connections;
  }

  /** Whether the visitor's address has its share of the connections in use. That none is left, the dial finds out. */
  isShareUsed({ visitor }: UpstreamRequest): boolean {
    if (visitor === undefined) return false;
    return this.#ports.shortage(visitor) === 'share' || this.#connections?.shortage(visitor) === 'share';
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    const isShareUsed = this.isShareUsed(request);
    const exchange = this.#begin(request, handler);
    if (isShareUsed) {
      this.#refuse(exchange, shareUsed());
      return exchange;
    }
    // A request that may become a raw stream needs a dedicated connection.
    const connection = request.switchTo === null && this.#hasIdleFor(request) ? this.#idle.pop() : undefined;
    if (connection === undefined) this.#dialFor(exchange);
    else connection.start(exchange);
    return exchange;
  }

  /** Null when no idle connection is available. */
  sendOnIdle(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange | null {
    if (request.switchTo !== null || !this.#hasIdleFor(request)) return null;
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

  onIdleClosed(afterMs: number): void {
    this.#closesAfterMs = Math.min(this.#closesAfterMs, afterMs);
  }

  onOver(exchange: Http1Exchange): void {
    if (exchange.placeHere !== -1) this.#ports.leave(exchange.placeHere);
    if (exchange.placeInAll !== -1) this.#connections?.leave(exchange.placeInAll);
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
    const { visitor } = request;
    if (visitor !== undefined) {
      exchange.placeHere = this.#ports.enter(visitor);
      exchange.placeInAll = this.#connections?.enter(visitor) ?? -1;
    }
    this.#active += 1;
    return exchange;
  }

  /**
   * A request that cannot be sent again gets no connection that the upstream may close at this moment. The most
   * recently used one is the youngest.
   */
  #hasIdleFor({ method }: UpstreamRequest): boolean {
    if (!this.#hasIdle()) return false;
    if (this.#closesAfterMs === Number.POSITIVE_INFINITY || isIdempotent(method)) return true;
    const idleForMs = this.#idle.at(-1)?.idleForMs ?? 0;
    // The upstream keeps connections longer after all: what closed the other one was no time limit, such as a restart.
    if (idleForMs > 2 * this.#closesAfterMs) this.#closesAfterMs = Number.POSITIVE_INFINITY;
    return idleForMs < this.#closesAfterMs * SAFE_PART;
  }

  #hasIdle(): boolean {
    while (this.#idle.length > 0 && this.#idle.at(-1)?.isUsable !== true) this.#idle.pop();
    return this.#idle.length > 0;
  }

  #dialFor(exchange: Http1Exchange): void {
    exchange.connection = null;
    if (this.#drained !== null && !exchange.hasRetried) {
      this.#refuse(exchange, failed('connect', 'draining', 'this upstream accepts no new requests', false));
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
        exchange.handler.onFailure(exchange.hasRetried ? { ...failure, mayHaveBeenSent: true } : this.#named(failure));
    });
  }

  #refuse(exchange: Http1Exchange, failure: UpstreamFailure): void {
    const refusal = setImmediate(() => {
      exchange.end();
      exchange.handler.onFailure(failure);
    });
    exchange.cancelDial = () => clearImmediate(refusal);
  }

  /** The system has the same error for an address that it cannot reach and for a lack of local ports. */
  #named(failure: UpstreamFailure): UpstreamFailure {
    const isFull = failure.reason === 'unreachable' && this.#ports.held + this.#idle.length > PORTS / 2;
    return isFull ? { ...failure, reason: UPSTREAM_SHORTAGE.full } : failure;
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

export function shareUsed(): UpstreamFailure {
  const message = 'the address of the client has as many connections to upstreams in use as are free';
  return failed('connect', UPSTREAM_SHORTAGE.share, message, false);
}
