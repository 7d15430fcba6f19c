import type { Target } from '../backends/target.ts';
import type { Clock } from '../lib/clock.ts';
import type { BackendSnapshot, EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { UpstreamFailure } from '../upstream/upstream.ts';
import type { AdmissionLimit } from './admission.ts';
import type { ConnectionFacts } from './edge-connection.ts';
import type { EdgeErrorCode } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { ForwardingSettings } from './forwarded-headers.ts';
import type { IncomingRequest } from './http/http-servers.ts';
import type { RequestHead } from './http/request-head.ts';

/** The answer to a request that could not be read. */
export interface UnreadRefusal {
  readonly id: string;
  readonly status: number;
  readonly code: EdgeErrorCode;
  readonly bytesOut: number;
}

/** What every exchange shares. */
export interface EdgeRuntime {
  /** How clients reach it. */
  readonly scheme: 'http' | 'https';
  readonly clock: Clock;
  readonly forwarding: ForwardingSettings;
  newRequestId(nowMs: number): string;
  findEdge(host: string): EdgeSnapshot | undefined;
  targetsOf(backend: BackendSnapshot): readonly Target[];
  /** The client's address: the peer's, or what trusted proxies say of it. */
  clientAddress(remoteAddress: string, head: RequestHead): string;
  /** What is believed of the X-Forwarded-For of a trusted proxy, the client first; null from anybody else. */
  trustedChain(remoteAddress: string, head: RequestHead): string | null;
  begin(exchange: Exchange): void;
  /** The limit that keeps another request out; null: it may come in. */
  limitExceeded(connection: ConnectionFacts, request: IncomingRequest): AdmissionLimit | null;
  /** The answer of a request begins. */
  answering(exchange: Exchange): void;
  /** Log line and metrics. */
  finish(exchange: Exchange): void;
  /** Log line and metrics of what never became an exchange. */
  unread(connection: ConnectionFacts, refusal: UnreadRefusal): void;
  upstreamFailed(exchange: Exchange, failure: UpstreamFailure): void;
}
