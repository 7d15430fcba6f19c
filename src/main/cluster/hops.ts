import type { OnlineTunnels } from '../../edge/tunnels/online-tunnels.ts';
import type { Clock } from '../../lib/clock.ts';
import { HopWebSockets } from '../../nodes/hop/hop-web-sockets.ts';
import { receiveChannelHops, receiveHops } from '../../nodes/hop/receive-hops.ts';
import type { NodeLinks } from '../../nodes/links/node-links.ts';
import type { SpanSink } from '../../tracing/finished-span.ts';
import { HopTracing } from '../../tracing/hop-trace.ts';

interface HopDependencies {
  /** Null: this server is alone. */
  readonly links: Pick<NodeLinks, 'serveStreams'> | null;
  readonly tunnels: OnlineTunnels;
  readonly tracing: SpanSink | null;
  readonly clock: Clock;
}

/** Serves requests of other nodes for agents of this one. Returns the WebSockets among them. */
export function serveHops({ links, tunnels, tracing, clock }: HopDependencies): HopWebSockets {
  const traced = tracing === null ? null : new HopTracing(tracing, () => clock.nowMs());
  const webSockets = new HopWebSockets();
  links?.serveStreams(receiveHops(tunnels, webSockets, { tracing: traced }), receiveChannelHops(tunnels, traced));
  return webSockets;
}
