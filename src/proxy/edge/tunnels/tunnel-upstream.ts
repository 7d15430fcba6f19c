import type { Duplex } from 'node:stream';
import { guarded, reportBug } from '../../../kit/guarded-listeners.ts';
import { firstValue, type HeaderList, withoutHeader } from '../../../kit/http/header-values.ts';
import { webSocketAccept } from '../../../kit/http/web-sockets.ts';
import type { Shortage } from '../../../kit/net/shared-places.ts';
import { HOP_TRACE_HEADER } from '../../tracing/request-trace.ts';
import type { DeadlineTicker } from '../../upstream/deadline-ticker.ts';
import { Http2Exchange, type Http2ExchangeOwner, type Http2ExchangeParts } from '../../upstream/http2-exchange.ts';
import { isSafe } from '../../upstream/request-headers.ts';
import type {
  ResponseHead,
  Upstream,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamLimits,
  UpstreamRequest,
} from '../../upstream/upstream.ts';
import {
  failed,
  isSessionOver,
  isUnsendable,
  REASON_OF_SHORTAGE,
  REQUEST_BODY,
  unsendable,
} from '../../upstream/upstream-failure.ts';
import { RetryWhileSuspended } from './awaited-tunnel.ts';
import { LinkAttempts } from './link-attempts.ts';
import type { AgentLink, OnlineTunnel } from './online-tunnels.ts';
import {
  TUNNEL_ADDRESS_HEADER,
  TUNNEL_ERROR_HEADER,
  TUNNEL_HEADER,
  TUNNEL_NODE_HEADER,
  TUNNEL_STATUS_HEADER,
  VISITOR_HEADER,
} from './stream-headers.ts';
import { agentFailure } from './tunnel-failures.ts';

const SUCCESS = /^2[0-9]{2}$/;

/**
 * The response of a service that did not agree to switch protocols, as the service sent it. Between agent and edge a
 * 2xx would mean that it did (RFC 8441 §5), so the agent sends the status of such a response in a header. Null: no
 * service can have sent this.
 */
function declinedHead(head: ResponseHead): ResponseHead | null {
  const value = firstValue(head.headers, TUNNEL_STATUS_HEADER);
  if (value === undefined) return head;
  const status = Number(value);
  if (!SUCCESS.test(value) || (status === 204 && head.bodyBytes !== 0)) return null;
  return { ...head, status };
}

const OFFLINE = 'the agent of this tunnel has no connection that accepts requests';
const ISOLATED = 'this node may not serve names of agents';
const TEXT_OF_SHORTAGE = {
  full: 'all streams to the agent of this tunnel are in use',
  share: 'the address of the client holds as many streams to the agent of this tunnel as are free',
} as const;

/**
 * A request through a tunnel. It handles what only tunnels have: an agent that reports that it could not reach its
 * service, and further ways to the same agent when one breaks or no longer leads to it. States: *waiting* for a node
 * with the right to serve, *sent* (`#inner`), perhaps *waiting* or *sent* again, *refused* (an immediate is set),
 * *over*.
 */
class TunnelExchange implements UpstreamExchange, UpstreamHandler {
  readonly #upstream: TunnelUpstream;
  readonly #request: UpstreamRequest;
  readonly #handler: UpstreamHandler;
  #inner: UpstreamExchange | null = null;
  #link: AgentLink | null = null;
  /** Null until the first way fails. */
  #attempts: LinkAttempts | null = null;
  #refusal: NodeJS.Immediate | null = null;
  #retry: RetryWhileSuspended | null = null;
  /** A node that announces the tunnel did not take it. */
  #isRefusedByNode = false;
  /** Why another node or thread did not take it. */
  #shortage: Shortage | null = null;
  #hasBytes = false;

  constructor(upstream: TunnelUpstream, request: UpstreamRequest, handler: UpstreamHandler) {
    this.#upstream = upstream;
    this.#request = request;
    this.#handler = handler;
  }

  start(): this {
    if (!this.#sendIfTaken()) this.#waitOr(() => this.#refuseUnsent());
    return this;
  }

  /** After a stream that was refused unprocessed. */
  sendAgain(shortage: Shortage | null): this {
    this.#shortage = shortage ?? this.#shortage;
    this.#isRefusedByNode ||= this.#link?.relay !== undefined && shortage === null;
    if (!this.#sendElsewhere(true)) this.#waitOr(() => this.#refuseUnsent());
    return this;
  }

  resume(): void {
    this.#inner?.resume();
  }

  get heldBytes(): number {
    return this.#inner?.heldBytes ?? 0;
  }

  abort(): void {
    if (this.#refusal !== null) clearImmediate(this.#refusal);
    this.#refusal = null;
    this.#retry?.stop();
    this.#inner?.abort();
  }

  onInformational(status: number, headers: HeaderList): void {
    this.#hasBytes = true;
    this.#handler.onInformational(status, headers);
  }

  #failHead(message: string): void {
    this.#inner?.abort();
    this.#inner = null;
    this.#handler.onFailure(failed('head', 'malformed', message, true));
  }

  onHead(answer: ResponseHead): void {
    this.#hasBytes = true;
    const head = this.#request.switchTo === null ? answer : this.#withoutNode(answer);
    const reason = firstValue(head.headers, TUNNEL_ERROR_HEADER);
    if (reason === undefined) {
      const answered = this.#request.switchTo === null ? head : declinedHead(head);
      if (answered !== null) this.#handler.onHead(answered);
      else this.#failHead('an invalid response to a WebSocket handshake');
      return;
    }
    // The agent's short text is not for the visitor: the edge has its own page.
    this.#inner?.abort();
    this.#upstream.rest();
    this.#handler.onFailure(agentFailure(reason, firstValue(head.headers, TUNNEL_ADDRESS_HEADER)));
  }

  /** RFC 8441 §5.1 has no response to the client's key; an HTTP/1.1 client waits for one. */
  onSwitch(answer: ResponseHead, stream: Duplex): void {
    const head = this.#withoutNode(answer);
    const headers = withoutHeader(head.headers, 'sec-websocket-accept');
    const key = firstValue(this.#request.headers, 'sec-websocket-key');
    if (key !== undefined) headers.push('sec-websocket-accept', webSocketAccept(key));
    this.#handler.onSwitch({ ...head, status: 101, headers }, stream);
  }

  /** The main thread tells it with the response of a WebSocket. */
  #withoutNode(head: ResponseHead): ResponseHead {
    const node = this.#link?.relay === 'thread' ? firstValue(head.headers, TUNNEL_NODE_HEADER) : undefined;
    if (node === undefined) return head;
    const { routeTaken } = this.#request;
    if (routeTaken !== undefined) routeTaken.tunnelNode = node;
    return { ...head, headers: withoutHeader(head.headers, TUNNEL_NODE_HEADER) };
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.onData(chunk);
  }

  onEnd(trailers: HeaderList): void {
    this.#handler.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure): void {
    this.#inner = null;
    const { method, body, switchTo } = this.#request;
    const isLost = failure.phase === 'send' && failure.reason !== REQUEST_BODY && failure.reason !== 'timeout';
    const isRepeatable = isLost && !this.#hasBytes && body.framing === 'none' && switchTo === null && isSafe(method);
    if (!isRepeatable) {
      this.#handler.onFailure(failure);
      return;
    }
    this.#attempts ??= new LinkAttempts();
    const giveUp = (): void => this.#handler.onFailure({ ...failure, isSafe: true });
    if (this.#link === null || !this.#attempts.mayRepeat(this.#link)) giveUp();
    else if (!this.#sendElsewhere(false)) this.#waitOr(giveUp);
  }

  /** One way to the agent is gone; most agents have another. */
  #sendElsewhere(wasRefused: boolean): boolean {
    this.#attempts ??= new LinkAttempts();
    if (this.#link !== null) this.#attempts.failed(this.#link, wasRefused);
    this.#inner = null;
    try {
      return this.#send();
    } catch (error) {
      if (!isUnsendable(error)) reportBug(error, { part: 'tunnel exchange' });
      return false;
    }
  }

  /** False when no way to the agent is left. */
  #send(): boolean {
    if (!this.#upstream.mayServe()) return false;
    const { tunnel } = this.#upstream;
    const { visitor } = this.#request;
    let link = this.#attempts === null ? tunnel.link(undefined, visitor) : this.#attempts.next(tunnel, visitor);
    while (link !== null && !this.#sendOn(link)) {
      this.#attempts ??= new LinkAttempts();
      this.#attempts.ended(link);
      link = this.#attempts.next(tunnel, visitor);
    }
    return link !== null;
  }

  /** False when the connection ended just now. */
  #sendOn(link: AgentLink): boolean {
    this.#link = link;
    const awaitsBodyWanted = link.relay !== undefined;
    const isRetry = this.#attempts?.isLast === true;
    try {
      const isRepeat = this.#attempts?.hasLost === true;
      const parts = { request: this.#request, handler: this, isRetry, isRepeat, awaitsBodyWanted };
      this.#inner = this.#upstream.sendOn(
        link,
        awaitsBodyWanted ? { ...parts, hopHeaders: hopHeaders(this.#request) } : parts,
      );
      const { routeTaken } = this.#request;
      if (routeTaken !== undefined) {
        routeTaken.tunnelNode = link.nodeName ?? null;
        routeTaken.counter = this.#upstream.tunnel.use;
      }
      return true;
    } catch (error) {
      if (isSessionOver(error)) return false;
      throw error;
    }
  }

  onBug(error: unknown): void {
    this.#inner = null;
    this.#handler.onBug(error);
  }

  /** One of the visitors who wait finds out whether the nodes with the agent still refuse. */
  #sendIfTaken(): boolean {
    return this.#upstream.tunnel.mayTry?.() !== false && this.#send();
  }

  /** A way may open in a moment, or not. */
  #waitOr(giveUp: () => void): void {
    if (this.#isRefusedByNode) this.#upstream.tunnel.refused?.();
    this.#isRefusedByNode = false;
    // Nobody waits for a stream to become free: others who come later would get none.
    if (!this.#upstream.isSuspended || this.#shortage !== null) {
      giveUp();
      return;
    }
    this.#retry ??= new RetryWhileSuspended();
    this.#retry.await(
      { contain: (error) => this.onBug(error) },
      {
        isSuspended: () => this.#upstream.isSuspended,
        attempt: () => {
          this.#attempts?.forget();
          try {
            return this.#sendIfTaken();
          } catch (error) {
            if (!isUnsendable(error)) throw error;
            this.#handler.onFailure(unsendable(error));
            return true;
          }
        },
        giveUp,
      },
    );
  }

  #refuseUnsent(): void {
    if (!this.#upstream.mayServe()) {
      this.#refuse(failed('connect', 'node_isolated', ISOLATED, false));
      return;
    }
    const shortage = this.#shortage ?? this.#upstream.tunnel.shortage?.(this.#request.visitor) ?? null;
    if (shortage === null) this.#refuse(failed('connect', 'no_tunnel', OFFLINE, false));
    else this.#refuse(failed('connect', REASON_OF_SHORTAGE[shortage], TEXT_OF_SHORTAGE[shortage], false));
  }

  /** Deferred: a caller does not expect a failure before it has the exchange. */
  #refuse(failure: UpstreamFailure): void {
    const { body } = this.#request;
    if (body.framing !== 'none') body.source.pause();
    this.#refusal = setImmediate(
      guarded({ contain: (error) => this.onBug(error) }, () => {
        this.#refusal = null;
        this.#handler.onFailure(failure);
      }),
    );
  }
}

/** For another node or thread, which removes them. */
function hopHeaders({ hopTrace, visitor }: UpstreamRequest): HeaderList {
  const headers: string[] = hopTrace === undefined ? [] : [HOP_TRACE_HEADER, hopTrace];
  if (visitor !== undefined) headers.push(VISITOR_HEADER, visitor);
  return headers;
}

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
   * The tunnel's agent has just reported that it cannot reach its service. Otherwise a member that fails fast would
   * always be the least busy.
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
