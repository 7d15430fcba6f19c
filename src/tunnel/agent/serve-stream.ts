import type { ServerHttp2Stream } from 'node:http2';
import { closing, guarded, listenOnce } from '../../kit/guarded-listeners.ts';
import { UnsafeRequestError } from '../../proxy/upstream/request-headers.ts';
import { MAX_BUSY_CONNECTIONS, MAX_STREAMS_PER_CONNECTION } from '../protocol/protocol.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import type { AgentEvents, ObserveExchange } from './handle.ts';
import { HttpExchange } from './local/http-exchange.ts';
import { refuseStream } from './local/local-failure.ts';
import type { RequestReading } from './local/served-request.ts';
import { openTcpConnection } from './local/tcp-connection.ts';
import type { Tunnel } from './tunnel.ts';

interface ServeParts {
  readonly events: AgentEvents;
  readonly observe: ObserveExchange | undefined;
}

/** Forwards a gateway stream to the tunnel's local service. */
export function serveStream(
  tunnel: Tunnel,
  stream: ServerHttp2Stream,
  reading: RequestReading,
  parts: ServeParts,
): void {
  const isConnection = reading.method === 'CONNECT' && reading.protocol === null;
  const isKnown = reading.protocol === null || reading.protocol === 'websocket';
  // A tunnel with labels has no protocol of its own: its edges decide.
  if (!isKnown || (tunnel.labels === null && tunnel.isRaw !== isConnection)) refuseStream(stream, 404);
  else if (isConnection && tunnel.hasFolder) refuseStream(stream, 404);
  else if (isConnection) serveConnection(tunnel, stream, reading, parts);
  else serveRequest(tunnel, stream, reading, parts);
}

function serveConnection(
  tunnel: Tunnel,
  stream: ServerHttp2Stream,
  { clientAddress }: RequestReading,
  { events }: ServeParts,
): void {
  const tell = (phase: 'opened' | 'closed' | 'failed', problem: string | null): void => {
    events.tell({ type: 'connection', tunnel, phase, clientAddress, problem });
  };
  openTcpConnection(stream, tunnel.rawAddress(), {
    onOpened: () => tell('opened', null),
    onClosed: (problem) => tell('closed', problem),
    onFailed: (problem) => tell('failed', problem),
  });
}

function serveRequest(tunnel: Tunnel, stream: ServerHttp2Stream, reading: RequestReading, parts: ServeParts): void {
  const startedAtMs = performance.now();
  const { method, path, authority, headers, contentLength } = reading;
  const observer =
    tunnel.spec.inspect === false || parts.observe === undefined
      ? null
      : parts.observe({ tunnel, method, target: path, authority, headers, contentLength });
  const exchange = new HttpExchange(stream, {
    upstream: tunnel.replicas,
    reading,
    authority: tunnel.authorityFor(authority),
    hostport: tunnel.replicas.hostport,
    observer,
    onOver: ({ status, bytesIn, bytesOut, problem }) => {
      const durationMs = performance.now() - startedAtMs;
      parts.events.tell({ type: 'request', tunnel, method, path, status, durationMs, bytesIn, bytesOut, problem });
    },
  });
  try {
    exchange.start();
  } catch (error) {
    if (error instanceof UnsafeRequestError) refuseStream(stream, 400);
    else exchange.contain(error);
  }
}

interface HeldStream {
  readonly connection: GatewayConnection;
  readonly stream: ServerHttp2Stream;
  readonly reading: RequestReading;
}

const HOLD_MS = 5_000;
/** All that the connections of an agent can have: a limit below that would be one that a single visitor reaches. */
const MAX_HELD = MAX_BUSY_CONNECTIONS * MAX_STREAMS_PER_CONNECTION;

/**
 * A request's head may overtake the message that announces its tunnel: both are in flight at once, and HTTP/2 sends
 * headers before data. A stream for a tunnel that is not known yet is therefore held for a short time.
 */
export class HeldStreams {
  readonly #held = new Map<HeldStream, NodeJS.Timeout>();

  hold(held: HeldStream): void {
    if (this.#held.size >= MAX_HELD) {
      refuseStream(held.stream, 404);
      return;
    }
    const owner = closing(held.stream, 'held stream');
    const giveUp = guarded(owner, () => {
      this.#held.delete(held);
      if (!held.stream.destroyed) refuseStream(held.stream, 404);
    });
    const timer = setTimeout(giveUp, HOLD_MS).unref();
    this.#held.set(held, timer);
    listenOnce(held.stream, 'close', owner, () => {
      clearTimeout(timer);
      this.#held.delete(held);
    });
  }

  /** A tunnel has become known: returns all held streams for another look. */
  release(): readonly HeldStream[] {
    const all = [...this.#held.keys()];
    for (const timer of this.#held.values()) clearTimeout(timer);
    this.#held.clear();
    return all;
  }
}
