import type { HeaderList } from '../../lib/http/header-values.ts';
import type { Shortage } from '../../lib/net/shared-places.ts';
import { TUNNEL_HEADER } from '../../tunnel/protocol.ts';
import type { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import { Http2Exchange, type Http2ExchangeOwner, type Http2ExchangeParts } from '../../upstream/http2-exchange.ts';
import type {
  Upstream,
  UpstreamExchange,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from '../../upstream/upstream.ts';
import type { AgentLink, OnlineTunnel } from './online-tunnels.ts';
import { TunnelExchange } from './tunnel-exchange.ts';

const REST_MS = 3_000;

/** Requests as streams on the connections of a tunnel's agent. It makes no connections: agents do. */
export class TunnelUpstream implements Upstream, Http2ExchangeOwner<AgentLink> {
  readonly limits: UpstreamLimits;
  readonly ticker: DeadlineTicker;
  readonly tunnel: OnlineTunnel;
  /** Names the tunnel for the agent. */
  readonly ownHeaders: HeaderList;
  /** Whether this process may serve the tunnel now. Read per request. */
  readonly mayServe: () => boolean;
  #restsUntilMs = 0;

  constructor(tunnel: OnlineTunnel, limits: UpstreamLimits, ticker: DeadlineTicker, mayServe = always) {
    this.mayServe = mayServe;
    this.tunnel = tunnel;
    this.limits = limits;
    this.ticker = ticker;
    this.ownHeaders = [TUNNEL_HEADER, tunnel.id];
  }

  /**
   * Its agent has just reported that it cannot reach its service. Otherwise a member that fails fast would always be
   * the least busy.
   */
  get isResting(): boolean {
    return this.ticker.nowMs < this.#restsUntilMs;
  }

  rest(): void {
    this.#restsUntilMs = this.ticker.nowMs + REST_MS;
  }

  /** Only the right to serve it is missing. */
  get isSuspended(): boolean {
    return !this.mayServe() || this.tunnel.isSuspended === true;
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamExchange {
    return new TunnelExchange(this, request, handler).start();
  }

  sendOn(link: AgentLink, parts: Http2ExchangeParts): UpstreamExchange {
    const exchange = new Http2Exchange<AgentLink>(this, parts);
    exchange.start(link);
    this.tunnel.inFlight += 1;
    return exchange;
  }

  /** The stream was refused unprocessed, by the agent or by a node that no longer has the tunnel. */
  resend(request: UpstreamRequest, handler: UpstreamHandler, shortage: Shortage | null): UpstreamExchange {
    // `sendOn` is called by tunnel exchanges only, which are their streams' handlers.
    return handler instanceof TunnelExchange ? handler.sendAgain(shortage) : this.send(request, handler);
  }

  /** The connection to the agent is shared, and the agent separates those behind it. */
  onConnectionAuth(): void {}

  onOver(): void {
    this.tunnel.inFlight -= 1;
  }

  /** The connections belong to the gateway. */
  drain(): Promise<void> {
    return Promise.resolve();
  }

  stats(): { readonly idle: number; readonly active: number } {
    return { idle: 0, active: this.tunnel.inFlight };
  }
}

export function always(): boolean {
  return true;
}
