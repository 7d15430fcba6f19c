import type { AgentLink, OnlineTunnel, OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import { TriedWays } from '../../edge/tunnels/tried-ways.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import { HOP_TRACE_HEADER, type HopTracing, withoutHopTrace } from '../../tracing/hop-trace.ts';
import { TUNNEL_HEADER } from '../../tunnel/protocol.ts';
import type { ChannelRequestHandler } from '../channel/incoming-channel.ts';
import type { PeerStreamHandler } from '../links/peer-links.ts';
import { ChannelHop } from './channel-hop.ts';
import { Hop } from './hop.ts';
import type { HopWebSockets } from './hop-web-sockets.ts';
import { RelayedHop } from './relayed-hop.ts';

interface HopSources {
  readonly tracing?: HopTracing | null;
  /** The streams are a worker's: this thread tries all ways to the agent. */
  readonly isForWorker?: true;
}

/**
 * Serves connections and WebSockets of other nodes for agents that are connected here. `local` knows only these agents:
 * a stream that came over a link never leaves over another link, so no header has to mark the stream. For a worker it knows
 * those of other nodes too.
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
    const link = tunnel?.link() ?? null;
    // No byte was taken yet, so the sender tries another node.
    if (tunnel === undefined || link === null) return false;
    const traced = headers[HOP_TRACE_HEADER];
    const trace = traced === undefined ? null : (tracing?.begin(traced, tunnel.id) ?? null);
    const isWebSocket = headers[':protocol'] === 'websocket';
    const onHopClosed = (): void => {
      webSockets.delete(hop);
      onClosed();
    };
    const hop = new Hop(stream, {
      ...{ tunnel, link, trace, isWebSocket },
      ...(isForWorker === true && { nextLink: nextLinkOf(tunnel) }),
      onClosed: isWebSocket ? onHopClosed : onClosed,
    });
    if (isWebSocket) webSockets.add(hop);
    hop.start(raw);
    return true;
  };
}

/** Serves requests of other nodes, and in a worker those of the main thread, which arrive on the channel, in the same way. */
export function receiveChannelHops(local: OnlineTunnels, tracing: HopTracing | null = null): ChannelRequestHandler {
  return (request, place) => {
    const { raw } = request;
    const tunnel = tunnelOf(local, raw);
    const link = tunnel?.link() ?? null;
    if (tunnel === undefined || link === null) return null;
    const traced = lastValue(raw, HOP_TRACE_HEADER);
    const trace = traced === undefined ? null : (tracing?.begin(traced, tunnel.id) ?? null);
    const forAgent = traced === undefined ? request : { ...request, raw: withoutHopTrace(raw) };
    // A worker of this node has the agent's connection.
    if (link.relay === 'holder') return new RelayedHop(place, { tunnel, request: forAgent, forNode: { trace } });
    return new ChannelHop(place, { tunnel, link, trace, request: forAgent });
  };
}

/** Serves requests of a worker, for agents of all nodes. */
export function receiveWorkersRequests(tunnels: OnlineTunnels): ChannelRequestHandler {
  return (request, place) => {
    const tunnel = tunnelOf(tunnels, request.raw);
    return tunnel === undefined ? null : new RelayedHop(place, { tunnel, request });
  };
}

function nextLinkOf(tunnel: OnlineTunnel): (refused: AgentLink) => AgentLink | null {
  const ways = new TriedWays();
  return (refused) => {
    ways.ended(refused);
    return ways.next(tunnel);
  };
}

function tunnelOf(tunnels: OnlineTunnels, raw: HeaderList): OnlineTunnel | undefined {
  const id = lastValue(raw, TUNNEL_HEADER);
  return id === undefined ? undefined : tunnels.get(id);
}

/** The sender adds its own headers at the end. */
function lastValue(raw: HeaderList, name: string): string | undefined {
  for (let at = raw.length - 2; at >= 0; at -= 2) if (raw[at] === name) return raw[at + 1];
  return undefined;
}
