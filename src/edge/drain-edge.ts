import type { Exchange } from './exchange.ts';
import type { HttpServers } from './http/http-servers.ts';
import type { LiveExchanges } from './live-exchanges.ts';
import type { TlsFront } from './tls/tls-front.ts';
import type { TunnelTraffic } from './tunnels/tunnel-traffic.ts';

export interface DrainedParts {
  readonly live: LiveExchanges<Exchange>;
  readonly servers: readonly HttpServers[];
  readonly front: Pick<TlsFront, 'drain' | 'pendingCount'>;
  readonly tunnels: Pick<TunnelTraffic, 'startDraining' | 'drain'>;
}

const GO_AWAY_EVERY_MS = 500;
const LOOK_EVERY_MS = 10;

/** See `Edge.drain`. */
export async function drainEdge(parts: DrainedParts, timeoutMs: number, lingerMs: number): Promise<void> {
  const { live, servers, front, tunnels } = parts;
  const deadline = performance.now() + timeoutMs;
  const left = (): number => Math.max(0, deadline - performance.now());
  tunnels.startDraining();
  if (lingerMs > 0) {
    for (const each of servers) each.startDraining(true);
    const lingersUntilMs = performance.now() + Math.min(lingerMs, timeoutMs);
    const isOpen = (): boolean => front.pendingCount > 0 || servers.some(({ connectionCount }) => connectionCount > 0);
    while (isOpen() && performance.now() < lingersUntilMs) {
      live.goAway();
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
  for (const each of servers) each.startDraining();
  live.goAway();
  // A client in its handshake may already have sent a request.
  await front.drain(left());
  while (live.count > 0 && left() > 0) {
    // Requests finish; a request in progress may have become a WebSocket.
    live.goAway();
    const pauseMs = Math.min(GO_AWAY_EVERY_MS, left());
    const nextMs = performance.now() + pauseMs;
    while (live.count > 0 && performance.now() < nextMs)
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  await Promise.all([...servers.map((each) => each.close(left())), tunnels.drain(left)]);
}
