import type { ServerHttp2Stream } from 'node:http2';
import { UnsafeRequestError } from '../upstream/request-headers.ts';
import type { AgentEvents } from './events.ts';
import type { ObserveExchange } from './exchange-observer.ts';
import { HttpExchange } from './local/http-exchange.ts';
import { refuseStream } from './local/local-failure.ts';
import type { RequestReading } from './local/request-reading.ts';
import { openTcpConnection } from './local/tcp-connection.ts';
import type { Tunnel } from './tunnel.ts';

export interface ServeParts {
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
