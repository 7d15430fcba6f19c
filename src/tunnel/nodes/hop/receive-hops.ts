import { until } from '../../../kit/async/waiting.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { CLOSE_WITHIN_MS } from '../../../kit/http/web-sockets.ts';
import { LinkAttempts } from '../../../proxy/edge/tunnels/link-attempts.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import { VISITOR_HEADER } from '../../../proxy/edge/tunnels/stream-headers.ts';
import { HOP_TRACE_HEADER, type HopTracing } from '../../../proxy/tracing/request-trace.ts';
import { TUNNEL_HEADER } from '../../protocol/protocol.ts';
import type { ChannelRequestHandler } from '../channel/incoming-channel.ts';
import type { PeerStreamHandler } from '../links/peer-links.ts';
import { Hop } from './hop.ts';
import { lastValue, visitorOf } from './hop-headers.ts';
import { RequestHop } from './request-hop.ts';

interface HopSources {
  readonly tracing?: HopTracing | null;
  /** The streams are a worker's: this thread tries all ways to the agent. */
  readonly isForWorker?: true;
}

/**
 * Serves connections and WebSockets of other nodes for agents that are connected here. `local` knows only these agents:
 * a stream that came over a link never leaves over another link, so no header has to mark the stream. For a worker it
 * knows those of other nodes too.
 */
export function receiveHops(
  local: OnlineTunnels,
  webSockets: HopWebSockets,
  { tracing = null, isForWorker }: HopSources = {},
): PeerStreamHandler {
  return (stream, headers, raw, onClosed) => {
    const isConnection = headers[':protocol'] === undefined;
    const id = isConnection ? headers[':authority'] : headers[TUNNEL_HEADER];
    const tunnel = typeof id === 'string' ? local.get(id) : undefined;
    const visitor = visitorOf(headers);
    const link = tunnel?.link(undefined, visitor) ?? null;
    // No byte was taken yet, so the sender tries another node.
    if (tunnel === undefined || link === null) return tunnel?.shortage?.(visitor) ?? false;
    const traced = headers[HOP_TRACE_HEADER];
    const trace = traced === undefined ? null : (tracing?.begin(traced, tunnel.id) ?? null);
    const isWebSocket = headers[':protocol'] === 'websocket';
    const onHopClosed = (): void => {
      webSockets.delete(hop);
      onClosed();
    };
    const hop = new Hop(stream, {
      ...{ tunnel, link, trace, isWebSocket, visitor },
      ...(isForWorker === true && { nextLink: nextLinkOf(tunnel, visitor) }),
      onClosed: isWebSocket ? onHopClosed : onClosed,
    });
    if (isWebSocket) webSockets.add(hop);
    hop.start(raw);
    return true;
  };
}

/**
 * Serves requests of other nodes, and in a worker those of the main thread, which arrive on the channel, in the same
 * way.
 */
export function receiveChannelHops(local: OnlineTunnels, tracing: HopTracing | null = null): ChannelRequestHandler {
  return (request, place) => {
    const { raw } = request;
    const tunnel = tunnelOf(local, raw);
    const visitor = lastValue(raw, VISITOR_HEADER);
    const link = tunnel?.link(undefined, visitor) ?? null;
    if (tunnel === undefined || link === null) return tunnel?.shortage?.(visitor) ?? null;
    const traced = lastValue(raw, HOP_TRACE_HEADER);
    const trace = traced === undefined ? null : (tracing?.begin(traced, tunnel.id) ?? null);
    return new RequestHop(place, { tunnel, link, request, visitor, forNode: { trace } });
  };
}

/** Serves requests of a worker, for agents of all nodes. */
export function receiveWorkersRequests(tunnels: OnlineTunnels): ChannelRequestHandler {
  return (request, place) => {
    const tunnel = tunnelOf(tunnels, request.raw);
    const visitor = lastValue(request.raw, VISITOR_HEADER);
    if (tunnel === undefined) return null;
    return new RequestHop(place, { tunnel, link: tunnel.link(undefined, visitor), request, visitor });
  };
}

function nextLinkOf(tunnel: OnlineTunnel, visitor: string | undefined): (refused: AgentLink) => AgentLink | null {
  const attempts = new LinkAttempts();
  return (refused) => {
    attempts.ended(refused);
    return attempts.next(tunnel, visitor);
  };
}

function tunnelOf(tunnels: OnlineTunnels, raw: HeaderList): OnlineTunnel | undefined {
  const id = lastValue(raw, TUNNEL_HEADER);
  return id === undefined ? undefined : tunnels.get(id);
}

interface LeavingHop {
  goAway(): void;
  cut(): void;
}

/** WebSockets of other nodes' visitors that pass through this node. */
export class HopWebSockets {
  readonly #open = new Set<LeavingHop>();

  add(hop: LeavingHop): void {
    this.#open.add(hop);
  }

  delete(hop: LeavingHop): void {
    this.#open.delete(hop);
  }

  /** Closes all WebSockets with status 1001, and cuts WebSockets that do not end. */
  async close(): Promise<void> {
    for (const hop of this.#open) hop.goAway();
    await until(() => this.#open.size === 0, CLOSE_WITHIN_MS);
    for (const hop of this.#open) hop.cut();
  }
}
