import type { Clock } from '../../../kit/clock.ts';
import type { Identity } from '../../../modules/contract/decides.ts';
import type { BackendTraffic } from '../../telemetry/metrics/backend-traffic.ts';
import type { EdgeMetrics } from '../../telemetry/metrics/edge-metrics.ts';
import type { RequestHistory } from '../../telemetry/requests/request-history.ts';
import type { RequestFacts } from '../../telemetry/traffic-facts.ts';
import { RecordedTrace } from '../../tracing/request-trace.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import type { UpstreamFailure } from '../../upstream/upstream.ts';
import { TOO_MANY_FILES } from '../../upstream/upstream-failure.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { UnreadRefusal } from '../edge-runtime.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { accessLine, unreadLine, unreadReason } from './access-log.ts';
import { moduleDecisions } from './observed-request.ts';
import { countedRequest, type RecordingSettings, recordedRequest, recordedUnread } from './record-request.ts';
import { requestSpans } from './request-spans.ts';
import type { UnknownNames } from './unknown-names.ts';

/** Who wants to know of requests. */
export interface RequestAudience {
  /** Null: no line per request. */
  readonly accessLog: ((line: Record<string, unknown>, who?: Pick<Identity, 'email' | 'name'>) => void) | null;
  /** Receives finished requests like the access log, but only while it wants them. */
  readonly traffic?: { wantsRequests(): boolean; requestComplete(facts: RequestFacts): void };
  /** Keeps finished requests. Absent: nobody wants them. */
  readonly history?: Pick<RequestHistory, 'isWanted' | 'record' | 'recordUnknownName' | 'tally'>;
  /** Absent: requests are not traced. */
  readonly tracing?: Pick<Tracing, 'begin' | 'send'> | null;
  /** Counts finished requests by backend. Absent: nobody wants to know. */
  readonly backendTraffic?: Pick<BackendTraffic, 'finished'>;
}

interface RequestReportsParts {
  readonly audience: RequestAudience;
  readonly metrics: EdgeMetrics;
  readonly recording: RecordingSettings;
  readonly unknownNames: Pick<UnknownNames, 'vacant'>;
  readonly clock: Clock;
  warn(fields: object, message: string): void;
}

/** Tells everybody who wants to know how each request ended: log, metrics, events, history and trace. */
export class RequestReports {
  readonly #parts: RequestReportsParts;
  readonly #audience: RequestAudience;

  constructor(parts: RequestReportsParts) {
    this.#parts = parts;
    this.#audience = parts.audience;
  }

  /** Whether anybody wants to know what the modules decided. */
  keepsDecisions(): boolean {
    return this.#audience.history?.isWanted === true || (this.#audience.tracing ?? null) !== null;
  }

  finished(exchange: Exchange): void {
    const { metrics, recording } = this.#parts;
    const { accessLog, backendTraffic, traffic, history } = this.#audience;
    const seconds = (performance.now() - exchange.startedAt) / 1000;
    metrics.finished(exchange, seconds);
    backendTraffic?.finished(exchange);
    exchange.counter?.ended(exchange.bytesIn, exchange.bytesOut);
    accessLog?.(accessLine(exchange, seconds), exchange.permit?.identity);
    if (traffic?.wantsRequests() === true)
      traffic.requestComplete({ ...accessLine(exchange, seconds), decisions: moduleDecisions(exchange) });
    if (history?.isWanted === true) history.record(recordedRequest(exchange, seconds * 1000, recording));
    else history?.tally(countedRequest(exchange, seconds * 1000));
    this.#sendTrace(exchange, seconds * 1000);
  }

  upstreamFailed(exchange: Exchange, failure: UpstreamFailure): void {
    this.#parts.metrics.upstreamFailed(failure.phase, failure.reason);
    // It is not the upstream's failure, and has a line of its own.
    if (failure.reason === TOO_MANY_FILES) return;
    const { mayHaveBeenSent, ...known } = failure;
    const line = { request_id: exchange.id, upstream: exchange.targetName, ...known };
    this.#parts.warn({ ...line, may_have_been_sent: mayHaveBeenSent }, 'an upstream failed');
  }

  /** A request that never became an exchange. */
  unread(connection: ConnectionFacts, refusal: UnreadRefusal): void {
    const { metrics, clock, unknownNames } = this.#parts;
    metrics.unread(refusal.status, unreadReason(refusal.code));
    this.#audience.accessLog?.(unreadLine(connection, refusal));
    // Rare enough to be described for the statistics alone.
    if (refusal.host === undefined) this.#audience.history?.record(recordedUnread(connection, refusal, clock.nowMs()));
    else unknownNames.vacant(refusal.host, connection.remoteAddress, refusal);
  }

  #sendTrace(exchange: Exchange, durationMs: number): void {
    const { tracing = null } = this.#audience;
    if (tracing === null) return;
    const trace = exchange.trace ?? tracing.begin(exchange.client.head.headers);
    if (trace instanceof RecordedTrace) tracing.send(requestSpans(exchange, trace, durationMs));
  }
}
