import type { BackendSnapshot, Target } from '../../backends/backend.ts';
import type { Clock } from '../../kit/clock.ts';
import type { EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { Upstream, UpstreamFailure } from '../upstream/upstream.ts';
import type { ConnectionFacts } from './connections/connection-facts.ts';
import type { EdgeErrorCode } from './errors.ts';
import type { Exchange } from './exchange/exchange.ts';
import type { ForwardingSettings } from './forwarding/forwarded-request.ts';
import type { RequestHead } from './http/request-head.ts';

/** The response to a request that could not be parsed. */
export interface UnreadRefusal {
  readonly id: string;
  readonly status: number;
  readonly code: EdgeErrorCode;
  readonly bytesOut: number;
  /** Known only if the head was read. */
  readonly host?: string;
}

/** Shared by all exchanges. */
export interface EdgeRuntime {
  /** The scheme that clients use. */
  readonly scheme: 'http' | 'https';
  readonly clock: Clock;
  readonly forwarding: ForwardingSettings;
  /** How long one end of a WebSocket may stay open without data after the other has ended. */
  readonly halfClosedMs: number;
  /** Whether anybody wants to know what the modules decided. */
  keepsDecisions(): boolean;
  /** Whether responses of upstreams get Postern-Request-Id, as all others do. */
  readonly marksForwarded: boolean;
  /** Null: requests are not traced. */
  readonly tracing: Pick<Tracing, 'begin'> | null;
  /**
   * Not null after this thread stood still, until it knows what other nodes changed meanwhile: false if that cannot be
   * known. Null: there are no other nodes.
   */
  readonly behind: ((nowMs: number) => Promise<boolean> | null) | null;
  newRequestId(nowMs: number): string;
  readonly findEdge: (host: string) => EdgeSnapshot | undefined;
  targetsOf(backend: BackendSnapshot): readonly Target<Upstream>[];
  /** The client's address: the peer's, or the one reported by trusted proxies. */
  clientAddress(remoteAddress: string, head: RequestHead): string;
  /** The trusted part of the X-Forwarded-For of a trusted proxy, client first; null from any other peer. */
  trustedChain(remoteAddress: string, head: RequestHead): string | null;
  begin(exchange: Exchange): void;
  /** The response of a request starts. */
  answering(exchange: Exchange): void;
  /** Writes log line and metrics. */
  finish(exchange: Exchange): void;
  /** Writes log line and metrics of a request that never became an exchange. */
  unread(connection: ConnectionFacts, refusal: UnreadRefusal): void;
  upstreamFailed(exchange: Exchange, failure: UpstreamFailure): void;
}
