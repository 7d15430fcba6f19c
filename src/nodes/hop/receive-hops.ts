import type { OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import { HOP_TRACE_HEADER, type HopTracing, withoutHopTrace } from '../../tracing/hop-trace.ts';
import { TUNNEL_HEADER } from '../../tunnel/protocol.ts';
import type { ChannelRequestHandler } from '../channel/incoming-channel.ts';
import type { PeerStreamHandler } from '../links/peer-links.ts';
import { ChannelHop } from './channel-hop.ts';
import { Hop } from './hop.ts';
import type { HopWebSockets } from './hop-web-sockets.ts';
import { RelayedHop } from './relayed-hop.ts';

/**
 * Serves connections and WebSockets of other nodes for agents that are connected here. `local` knows only these agents:
 * a stream that came over a link never leaves over another link, so no header has to mark the stream.
 */
export function receiveHops(
  local: OnlineTunnels,
  webSockets: HopWebSockets,
  tracing: HopTracing | null = null,
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
    // The header is not for the agent, whether or not this node traces.
    const forAgent = traced === undefined ? raw : withoutHopTrace(raw);
    const isWebSocket = headers[':protocol'] === 'websocket';
    const onHopClosed = (): void => {
      webSockets.delete(hop);
      onClosed();
    };
    const hop = new Hop(stream, {
      ...{ tunnel, link, trace, isWebSocket },
      onClosed: isWebSocket ? onHopClosed : onClosed,
    });
    if (isWebSocket) webSockets.add(hop);
    hop.start(forAgent);
    return true;
  };
}

/** Serves requests of other nodes, which arrive on the channel, in the same way. */
export function receiveChannelHops(local: OnlineTunnels, tracing: HopTracing | null = null): ChannelRequestHandler {
  return (request, place) => {
    const { raw } = request;
    const id = lastValue(raw, TUNNEL_HEADER);
    const tunnel = id === undefined ? undefined : local.get(id);
    const link = tunnel?.link() ?? null;
    if (tunnel === undefined || link === null) return null;
    // For a worker, whose tunnels may be those of other nodes.
    if (link.channel) return new RelayedHop(place, { tunnel, channel: link.channel, request });
    const traced = lastValue(raw, HOP_TRACE_HEADER);
    if (traced === undefined) return new ChannelHop(place, { tunnel, link, trace: null, request });
    const trace = tracing?.begin(traced, tunnel.id) ?? null;
    return new ChannelHop(place, { tunnel, link, trace, request: { ...request, raw: withoutHopTrace(raw) } });
  };
}

/** The sender adds its own headers at the end. */
function lastValue(raw: HeaderList, name: string): string | undefined {
  for (let at = raw.length - 2; at >= 0; at -= 2) if (raw[at] === name) return raw[at + 1];
  return undefined;
}
