import { keptText } from '../../telemetry/requests/recorded-request.ts';
import type { Attempt, RecordedTrace } from '../../tracing/request-trace.ts';
import type { FinishedSpan } from '../../tracing/span-queue.ts';
import type { Exchange } from '../exchange/exchange.ts';

const MAX_TEXT = 1_024;
const FIRST_CLIENT_ERROR = 400;
const FIRST_SERVER_ERROR = 500;
/** OpenTelemetry's semantic conventions: any other method is `_OTHER`, so that clients cannot make up names. */
const METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY'.split(' '));

/**
 * The spans of a finished request, with what the access log may have: no query, no header, no cookie. Also no user:
 * collectors are often run by others.
 */
export function requestSpans(exchange: Exchange, trace: RecordedTrace, durationMs: number): readonly FinishedSpan[] {
  const { startedAt, nowMs, waits, waitStarts, status } = exchange;
  const { traceId, spanId, parent } = trace;
  const timeOf = (at: number): number => nowMs + at - startedAt;
  const endedAt = startedAt + durationMs;
  const child = { traceId, parentSpanId: spanId, isParentRemote: false };
  const method = METHODS.has(exchange.method) ? exchange.method : '_OTHER';
  const spans: FinishedSpan[] = [
    {
      name: nameOf(method, exchange),
      kind: 'server',
      traceId,
      spanId,
      parentSpanId: parent?.spanId ?? null,
      isParentRemote: parent !== null,
      startMs: timeOf(startedAt),
      endMs: timeOf(endedAt),
      attributes: edgeAttributes(exchange, method),
      isError: status === 0 || status >= FIRST_SERVER_ERROR,
    },
  ];
  for (let at = 0; at < waits.length; at += 2) {
    const module = waits[at] as string;
    const waitedFrom = waitStarts[at / 2] as number;
    spans.push({
      ...{ ...child, name: `module ${module}`, kind: 'internal', spanId: trace.ids.spanId() },
      ...{ startMs: timeOf(waitedFrom), endMs: timeOf(waitedFrom + (waits[at + 1] as number)) },
      attributes: { 'postern.module': module },
      isError: false,
    });
  }
  for (const attempt of trace.attempts) {
    const upstream = upstreamSpan(exchange, attempt, method);
    const startMs = timeOf(attempt.startedAt);
    const endMs = timeOf(attempt.endedAt === 0 ? endedAt : attempt.endedAt);
    spans.push({ ...child, ...upstream, startMs, endMs });
    if (attempt.tunnelSpanId !== null)
      spans.push({
        ...{ traceId, parentSpanId: attempt.spanId, isParentRemote: false, spanId: attempt.tunnelSpanId },
        ...{ name: 'tunnel', kind: 'internal', startMs, endMs },
        attributes: tunnelAttributes(exchange, attempt),
        isError: attempt.failure !== null,
      });
  }
  return spans;
}

/** Few different ones: tools group spans by name. */
function nameOf(method: string, { route }: Exchange): string {
  const verb = method === '_OTHER' ? 'HTTP' : method;
  return route === null ? verb : `${verb} ${keptText(route.match, MAX_TEXT, MAX_TEXT)}`;
}

function edgeAttributes(exchange: Exchange, method: string): FinishedSpan['attributes'] {
  const { route, status, errorCode, refusedBy, answeredBy } = exchange;
  const error = errorCode ?? (status === 0 ? (refusedBy ?? 'client_gone') : null);
  return {
    'http.request.method': method,
    'url.scheme': exchange.runtime.scheme,
    'url.path': keptText(exchange.path, 0, MAX_TEXT),
    'server.address': exchange.host,
    'client.address': exchange.clientAddress,
    ...(status !== 0 && { 'http.response.status_code': status }),
    ...(route !== null && {
      'http.route': keptText(route.match, MAX_TEXT, MAX_TEXT),
      'postern.edge': route.edgeId,
      'postern.route': route.id,
    }),
    'postern.request_id': exchange.id,
    ...(refusedBy !== null && { 'postern.refused_by': refusedBy }),
    ...(answeredBy !== null && { 'postern.answered_by': answeredBy }),
    ...(error !== null && { 'error.type': error }),
  };
}

function upstreamSpan(
  { status, targetName }: Exchange,
  { spanId, target, failure, endedAt }: Attempt,
  method: string,
): Pick<FinishedSpan, 'name' | 'kind' | 'spanId' | 'attributes' | 'isError'> {
  // A failed attempt has no response: the status is that of the error page, or of another attempt.
  const answered = endedAt === 0 && failure === null && targetName === target && status !== 0 ? status : null;
  return {
    name: 'upstream',
    kind: 'client',
    spanId,
    attributes: {
      'http.request.method': method,
      'postern.target': target,
      ...(answered !== null && { 'http.response.status_code': answered }),
      ...(failure !== null && { 'error.type': failure }),
    },
    isError: failure !== null || (answered ?? 0) >= FIRST_CLIENT_ERROR,
  };
}

function tunnelAttributes({ tunnelNode }: Exchange, attempt: Attempt): FinishedSpan['attributes'] {
  const node = attempt.failure === null ? tunnelNode : attempt.node;
  return {
    'postern.tunnel': attempt.target,
    ...(node !== null && { 'postern.node': node }),
    ...(attempt.failure !== null && { 'error.type': attempt.failure }),
  };
}
