import type { Clock } from '../../../kit/clock.ts';
import type { CanonicalPath } from '../../../kit/http/canonical-path.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import type { Identity } from '../../../modules/contract/decides.ts';
import type { BackendTraffic } from '../../telemetry/metrics/backend-traffic.ts';
import type { EdgeMetrics } from '../../telemetry/metrics/edge-metrics.ts';
import { type CountedRequest, keptText, type RecordedRequest } from '../../telemetry/requests/recorded-request.ts';
import type { RequestHistory } from '../../telemetry/requests/request-history.ts';
import type { RequestFacts } from '../../telemetry/traffic-facts.ts';
import { RecordedTrace } from '../../tracing/request-trace.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import type { UpstreamFailure } from '../../upstream/upstream.ts';
import { TOO_MANY_FILES } from '../../upstream/upstream-failure.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { UnreadRefusal } from '../edge-runtime.ts';
import type { EdgeErrorCode } from '../errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { moduleDecisions } from '../exchange/received-request.ts';
import type { RequestHead } from '../http/request-head.ts';
import { PerSecond } from '../limits/per-second.ts';
import { accessLine, UNKNOWN_NAME, unreadLine, unreadReason } from './access-log.ts';
import { requestSpans } from './request-spans.ts';

/** What of a request may be kept, beside what the access log has. */
export interface RecordingSettings {
  /** Names of client headers, in lower case. */
  readonly headers: readonly string[];
  readonly keepsQuery: boolean;
}

const MAX_PATH = 1_024;
const MAX_HEADER = 512;
const NONE: readonly never[] = [];

export function recordedRequest(exchange: Exchange, durationMs: number, settings: RecordingSettings): RecordedRequest {
  const { route, permit, status, startedAt, admittedAt, answeredAt } = exchange;
  const { head } = exchange.client;
  const { target, path } = head.path;
  return {
    id: exchange.id,
    startedAtMs: exchange.nowMs,
    durationMs,
    method: head.method,
    host: head.host,
    // A part of the target would keep the query in memory with it.
    path: keptText(path, target.length === path.length ? MAX_PATH : 0, MAX_PATH),
    query: settings.keepsQuery ? keptQuery(head.path) : null,
    status,
    errorCode: exchange.errorCode,
    edgeId: route?.edgeId ?? null,
    routeId: route?.id ?? null,
    clientAddress: exchange.clientAddress,
    userId: permit?.userId ?? null,
    userKind: permit?.identity.kind ?? null,
    headers: listedHeaders(head.headers, settings.headers),
    bytesIn: exchange.bytesIn,
    bytesOut: exchange.bytesOut,
    passes: exchange.passes,
    waits: exchange.waits,
    refusedBy: exchange.refusedBy,
    answeredBy: exchange.answeredBy,
    decidingRule: exchange.decidingRuleText,
    target: exchange.targetName,
    tunnelNode: exchange.tunnelNode,
    admittedMs: admittedAt === 0 ? null : admittedAt - startedAt,
    answeredMs: answeredMs(status, answeredAt, startedAt, durationMs),
  };
}

/** For statistics, while nobody wants to know more. */
function countedRequest(exchange: Exchange, durationMs: number): CountedRequest {
  const { route, status, errorCode, bytesIn, bytesOut } = exchange;
  return {
    edgeId: route?.edgeId ?? null,
    routeId: route?.id ?? null,
    status,
    errorCode,
    durationMs,
    bytesIn,
    bytesOut,
  };
}

/**
 * Not of paths that modules serve: guest links, codes and states of logins are secrets, also on a host without the
 * module.
 */
function keptQuery({ target, path, key }: CanonicalPath): string | null {
  if (target.length === path.length || isOwnPathText(key)) return null;
  return keptText(target.slice(path.length + 1), 0, MAX_PATH);
}

function answeredMs(status: number, answeredAt: number, startedAt: number, durationMs: number): number | null {
  if (answeredAt !== 0) return answeredAt - startedAt;
  return status === 0 ? null : durationMs;
}

function listedHeaders(headers: HeaderList, names: readonly string[]): HeaderList {
  let listed: string[] | null = null;
  for (const name of names) {
    const value = firstValue(headers, name);
    if (value === undefined) continue;
    // A Referer may be the address of an own path, with its query.
    const shown = name === 'referer' && isOwnPathText(value) ? '' : keptText(value, MAX_HEADER, MAX_HEADER);
    if (listed === null) listed = [name, shown];
    else listed.push(name, shown);
  }
  return listed ?? NONE;
}

/** For a request that could not be parsed. */
function recordedUnread(
  { edgeId, remoteAddress }: ConnectionFacts,
  { id, status, code, bytesOut }: UnreadRefusal,
  nowMs: number,
): RecordedRequest {
  return {
    id,
    startedAtMs: nowMs,
    durationMs: 0,
    method: null,
    host: null,
    path: null,
    query: null,
    status,
    errorCode: code,
    edgeId: edgeId === '' ? null : edgeId,
    routeId: null,
    clientAddress: remoteAddress,
    userId: null,
    userKind: null,
    headers: NONE,
    bytesIn: 0,
    bytesOut,
    passes: NONE,
    waits: NONE,
    refusedBy: `edge:${unreadReason(code)}`,
    answeredBy: null,
    decidingRule: null,
    target: null,
    tunnelNode: null,
    admittedMs: null,
    answeredMs: 0,
  };
}

type EarlyFacts = Pick<
  RecordedRequest,
  'id' | 'startedAtMs' | 'status' | 'errorCode' | 'edgeId' | 'clientAddress' | 'bytesOut'
> &
  Pick<RecordedRequest, 'passes' | 'refusedBy' | 'answeredBy' | 'decidingRule'>;

/** For a request that was answered before a route was looked for. `head`: null when it could not be parsed. */
export function recordedEarly(
  facts: EarlyFacts,
  head: RequestHead | null,
  { headers, keepsQuery }: RecordingSettings,
): RecordedRequest {
  return {
    ...facts,
    durationMs: 0,
    method: head?.method ?? null,
    host: head?.host ?? null,
    path: head === null ? null : keptText(head.path.path, 0, MAX_PATH),
    query: head !== null && keepsQuery ? keptQuery(head.path) : null,
    routeId: null,
    userId: null,
    userKind: null,
    headers: head === null ? NONE : listedHeaders(head.headers, headers),
    bytesIn: 0,
    waits: NONE,
    target: null,
    tunnelNode: null,
    admittedMs: null,
    answeredMs: 0,
  };
}

/**
 * Paths below it belong to modules. In any case of letters, escaped, and behind other segments: a mistyped link has its
 * secret, too.
 */
const OWN_PATH = /(?:[/\\]|%2f|%5c)(?:\.|%2e)postern(?:[/\\;]|%2f|%5c|$)/i;

function isOwnPathText(text: string): boolean {
  return OWN_PATH.test(text);
}

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
  readonly log: { warn(fields: object, message: string): void };
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
    // Such a failure is not the upstream's failure, and has a line of its own.
    if (failure.reason === TOO_MANY_FILES) return;
    const { mayHaveBeenSent, ...known } = failure;
    const line = { request_id: exchange.id, upstream: exchange.targetName, ...known };
    this.#parts.log.warn({ ...line, may_have_been_sent: mayHaveBeenSent }, 'an upstream failed');
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

interface UnknownNamesOptions {
  /** Absent: nobody wants to know of requests. */
  readonly history: Pick<RequestHistory, 'recordUnknownName' | 'tally'> | undefined;
  /** Null: no line per request. */
  readonly accessLog: ((line: Record<string, unknown>) => void) | null;
  readonly recording: RecordingSettings;
  readonly clock: Clock;
  readonly newRequestId: () => string;
}

/** A response to a request for a name that no site has. */
export interface UnknownNameAnswer {
  readonly id: string;
  readonly status: number;
  readonly code: EdgeErrorCode;
  readonly bytesOut: number;
}

/** A million invented names are a few rows, while a mistyped one is seen. */
const MAX_PER_SECOND = 5;
const NO_RESPONSE = { status: 0, errorCode: null, bytesOut: 0 } as const;
const NOTHING_DECIDED: readonly never[] = [];

/**
 * Shows administrators the names that strangers ask for and no site has: a mistyped host, or DNS records without a
 * site.
 */
export class UnknownNames {
  readonly #options: UnknownNamesOptions;
  readonly #shown = new PerSecond(MAX_PER_SECOND);

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
  }

  /** A TLS handshake, which got an alert: no request was read. */
  handshake(name: string, clientAddress: string): void {
    if (!this.#shown.take()) return;
    const { newRequestId } = this.#options;
    this.#log(this.#record({ id: newRequestId(), clientAddress, ...NO_RESPONSE }, name, null));
  }

  request(head: RequestHead, clientAddress: string, answer: UnknownNameAnswer): void {
    const facts = this.#counted(answer);
    if (this.#shown.take()) this.#log(this.#record({ ...facts, clientAddress }, head.host, head));
  }

  /** A name below the own domain. Its line is in the log already. */
  vacant(host: string, clientAddress: string, answer: UnknownNameAnswer): void {
    const facts = this.#counted(answer);
    if (this.#shown.take()) this.#record({ ...facts, clientAddress }, host, null);
  }

  #counted({ id, status, code, bytesOut }: UnknownNameAnswer) {
    this.#options.history?.tally({
      ...{ edgeId: null, routeId: null, status, errorCode: code },
      ...{ durationMs: 0, bytesIn: 0, bytesOut },
    });
    return { id, status, errorCode: code, bytesOut };
  }

  #record(
    facts: Pick<RecordedRequest, 'id' | 'clientAddress' | 'status' | 'errorCode' | 'bytesOut'>,
    host: string,
    head: RequestHead | null,
  ): RecordedRequest {
    const { history, clock, recording } = this.#options;
    const ended = { refusedBy: UNKNOWN_NAME, answeredBy: null, decidingRule: null, passes: NOTHING_DECIDED };
    const early = recordedEarly({ ...facts, ...ended, startedAtMs: clock.nowMs(), edgeId: null }, head, recording);
    const recorded = { ...early, host };
    history?.recordUnknownName(recorded);
    return recorded;
  }

  #log({ id, method, host, path, status, clientAddress, bytesOut, errorCode }: RecordedRequest): void {
    this.#options.accessLog?.({
      ...{ request_id: id, method, host, path, status, client: clientAddress, edge: null, route: null, upstream: null },
      ...{ bytes_in: 0, bytes_out: bytesOut, ms: 0 },
      ...(errorCode !== null && { error_code: errorCode }),
      refused_by: UNKNOWN_NAME,
    });
  }
}
