import type { Clock } from '../lib/clock.ts';
import type { BackendSnapshot, EdgeSnapshot } from '../snapshot/edge-snapshot.ts';
import type { Target } from './backends/target.ts';
import type { Exchange } from './exchange.ts';
import type { ForwardingSettings } from './forwarded-headers.ts';
import type { RequestHead } from './http/request-head.ts';
import type { UpstreamFailure } from './upstream/upstream.ts';

/** What every exchange shares. */
export interface EdgeRuntime {
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
  /** Log line and metrics. */
  finish(exchange: Exchange): void;
  upstreamFailed(exchange: Exchange, failure: UpstreamFailure): void;
  bug(exchange: Exchange, error: unknown): void;
}
