import type { Duplex } from 'node:stream';
import { guarded, reportBug } from '../../lib/guarded-listeners.ts';
import { firstValue, type HeaderList, withoutHeader } from '../../lib/http/header-values.ts';
import { webSocketAccept } from '../../lib/http/web-sockets.ts';
import type { Shortage } from '../../lib/net/shared-places.ts';
import { HOP_TRACE_HEADER } from '../../tracing/hop-trace.ts';
import { TUNNEL_ADDRESS_HEADER, TUNNEL_ERROR_HEADER } from '../../tunnel/protocol.ts';
import { isSafe } from '../../upstream/request-headers.ts';
import { isSessionOver, isUnsendable, unsendable } from '../../upstream/unsendable.ts';
import type {
  ResponseHead,
  UpstreamExchange,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamRequest,
} from '../../upstream/upstream.ts';
import { failed, REASON_OF_SHORTAGE, REQUEST_BODY } from '../../upstream/upstream-failure.ts';
import { agentFailure } from './agent-failure.ts';
import { declinedHead } from './declined-head.ts';
import { type AgentLink, TUNNEL_NODE_HEADER, VISITOR_HEADER } from './online-tunnels.ts';
import { RetryWhileSuspended } from './retry-while-suspended.ts';
import { TriedWays } from './tried-ways.ts';
import type { TunnelUpstream } from './tunnel-upstream.ts';

const OFFLINE = 'the agent of this tunnel has no connection that accepts requests';
const ISOLATED = 'this node may not serve names of agents';
const TEXT_OF_SHORTAGE = {
  full: 'all streams to the agent of this tunnel are in use',
  share: 'the address of the client holds as many streams to the agent of this tunnel as are free',
} as const;

/**
 * A request through a tunnel. It handles what only tunnels have: an agent that reports that it could not reach its
 * service, and further ways to the same agent when one breaks or no longer leads to it. States: *waiting* for a node with
 * the right to serve, *sent* (`#inner`), perhaps *waiting* or *sent* again, *refused* (an immediate is set), *over*.
 */
export class TunnelExchange implements UpstreamExchange, UpstreamHandler {
  readonly #upstream: TunnelUpstream;
  readonly #request: UpstreamRequest;
  readonly #handler: UpstreamHandler;
  #inner: UpstreamExchange | null = null;
  #link: AgentLink | null = null;
  /** Null until the first way fails. */
  #ways: TriedWays | null = null;
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
    // Its short text is not for the visitor: the edge has its own page.
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
    this.#ways ??= new TriedWays();
    const giveUp = (): void => this.#handler.onFailure({ ...failure, isSafe: true });
    if (this.#link === null || !this.#ways.mayRepeat(this.#link)) giveUp();
    else if (!this.#sendElsewhere(false)) this.#waitOr(giveUp);
  }

  /** One way to the agent is gone; most agents have another. */
  #sendElsewhere(wasRefused: boolean): boolean {
    this.#ways ??= new TriedWays();
    if (this.#link !== null) this.#ways.failed(this.#link, wasRefused);
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
    let link = this.#ways === null ? tunnel.link(undefined, visitor) : this.#ways.next(tunnel, visitor);
    while (link !== null && !this.#sendOn(link)) {
      this.#ways ??= new TriedWays();
      this.#ways.ended(link);
      link = this.#ways.next(tunnel, visitor);
    }
    return link !== null;
  }

  /** False when the connection ended just now. */
  #sendOn(link: AgentLink): boolean {
    this.#link = link;
    const awaitsBodyWanted = link.relay !== undefined;
    const isRetry = this.#ways?.isLast === true;
    try {
      const isRepeat = this.#ways?.hasLost === true;
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
          this.#ways?.forget();
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
