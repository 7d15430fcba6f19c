import type { OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import { HOP_TRACE_HEADER, type HopTracing, withoutHopTrace } from '../../tracing/hop-trace.ts';
import { TUNNEL_HEADER } from '../../tunnel/protocol.ts';
import type { PeerStreamHandler } from '../links/peer-links.ts';
import { Hop } from './hop.ts';

/**
 * Serves streams of other nodes for agents that are connected here. `local` knows only those: a stream that came over a
 * link never leaves over another one, so no header has to mark it.
 */
export function receiveHops(local: OnlineTunnels, tracing: HopTracing | null = null): PeerStreamHandler {
  return (stream, headers, raw, onClosed) => {
    const isConnection = headers[':method'] === 'CONNECT' && headers[':protocol'] === undefined;
    const id = isConnection ? headers[':authority'] : headers[TUNNEL_HEADER];
    const tunnel = typeof id === 'string' ? local.get(id) : undefined;
    const link = tunnel?.link() ?? null;
    // Before a byte of the body was taken: the sender tries another node.
    if (tunnel === undefined || link === null) return false;
    const traced = headers[HOP_TRACE_HEADER];
    const trace = traced === undefined ? null : (tracing?.begin(traced, tunnel.id) ?? null);
    // Whether or not this node traces: it is not for the agent.
    const forAgent = traced === undefined ? raw : withoutHopTrace(raw);
    new Hop(stream, { tunnel, link, trace, onClosed }).start(headers, forAgent);
    return true;
  };
}
