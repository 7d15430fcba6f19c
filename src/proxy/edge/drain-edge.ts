import { until } from '../../kit/async/waiting.ts';
import { CLOSE_WITHIN_MS } from '../../kit/http/web-sockets.ts';
import type { Exchange } from './exchange/exchange.ts';
import type { LiveExchanges } from './exchange/live-exchanges.ts';
import type { HttpServers } from './http/http-servers.ts';
import type { TlsFront } from './tls/tls-front.ts';
import type { TunnelTraffic } from './tunnels/tunnel-traffic.ts';

export interface DrainedParts {
  readonly live: LiveExchanges<Exchange>;
  readonly servers: readonly HttpServers[];
  readonly front: Pick<TlsFront, 'drain' | 'pendingCount'>;
  readonly tunnels: Pick<TunnelTraffic, 'startDraining' | 'drain'>;
}

export interface EdgeDrainOptions {
  /** For so long connections may still send one request each. Default: 0. */
  readonly lingerMs?: number;
  /** WebSockets stay open until the deadline, and are closed then. Default: they are closed at the beginning. */
  readonly keepsWebSockets?: boolean;
}

const GO_AWAY_EVERY_MS = 500;

/** See `Edge.drain`. */
export async function drainEdge(parts: DrainedParts, timeoutMs: number, options: EdgeDrainOptions): Promise<void> {
  const { live, servers, front, tunnels } = parts;
  const { lingerMs = 0, keepsWebSockets = false } = options;
  let deadline = performance.now() + timeoutMs;
  const left = (): number => Math.max(0, deadline - performance.now());
  const closeWebSockets = (): void => {
    if (!keepsWebSockets) live.goAway();
  };
  tunnels.startDraining();
  if (lingerMs > 0) {
    for (const each of servers) each.startDraining(true);
    const isOpen = (): boolean => front.pendingCount > 0 || servers.some(({ connectionCount }) => connectionCount > 0);
    const isEmpty = (): boolean => {
      closeWebSockets();
      return !isOpen();
    };
    await until(isEmpty, Math.min(lingerMs, timeoutMs));
  }
  for (const each of servers) each.startDraining();
  closeWebSockets();
  // A client in its handshake may already have sent a request.
  await front.drain(left());
  while (live.count > 0 && left() > 0) {
    // Requests finish; a request in progress may have become a WebSocket.
    closeWebSockets();
    await until(() => live.count === 0, Math.min(GO_AWAY_EVERY_MS, left()));
  }
  // One that is still in the middle of a frame after this is cut.
  if (keepsWebSockets && live.goAway() > 0) {
    deadline = performance.now() + CLOSE_WITHIN_MS;
    await until(() => live.goAway() === 0, CLOSE_WITHIN_MS);
  }
  await Promise.all([...servers.map((each) => each.close(left())), tunnels.drain(left)]);
}
