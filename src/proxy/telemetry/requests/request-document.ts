import { rfc3339 } from '../../../kit/clock.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import type { PassedBy, RecordedRequest } from './recorded-request.ts';

/** What a module decided about a request. */
interface Decision {
  readonly module: string;
  readonly decision: 'pass' | 'refuse' | 'answer';
  readonly reason: string;
  readonly rule?: string;
  /** Milliseconds, for a module that did not answer at once. */
  readonly ms?: number;
}

export interface RequestDocument extends JsonObject {
  readonly id: string;
}

/**
 * A request as nodes report it to each other, and as the API shows it with references instead of ids. Fields are set
 * one by one: live views need many documents, and an object for each optional field doubled their cost.
 */
export function requestDocument(request: RecordedRequest, node: string): RequestDocument {
  const { id, query, errorCode, refusedBy, answeredBy, userId, userKind, target, tunnelNode } = request;
  const document: Record<string, JsonValue> & { id: string } = {
    id,
    at: rfc3339(request.startedAtMs),
    node,
    method: request.method,
    host: request.host,
    path: request.path,
  };
  if (query !== null) document['query'] = query;
  document['status'] = request.status;
  if (errorCode !== null) document['error_code'] = errorCode;
  if (refusedBy !== null) document['refused_by'] = refusedBy;
  if (answeredBy !== null) document['answered_by'] = answeredBy;
  document['edge'] = request.edgeId;
  document['route'] = request.routeId;
  document['client_address'] = request.clientAddress;
  if (userId !== null) document['user'] = userId;
  if (userKind !== null) document['user_kind'] = userKind;
  addHeaders(document, request.headers);
  document['duration_ms'] = rounded(request.durationMs);
  document['bytes_in'] = request.bytesIn;
  document['bytes_out'] = request.bytesOut;
  document['decisions'] = decisionsOf(request);
  if (target !== null) document['target'] = target;
  if (tunnelNode !== null) document['tunnel_node'] = tunnelNode;
  document['timings'] = {
    admitted_ms: rounded(request.admittedMs),
    answered_ms: rounded(request.answeredMs),
    finished_ms: rounded(request.durationMs),
  };
  return document;
}

function addHeaders(document: Record<string, JsonValue>, headers: HeaderList): void {
  let others: Record<string, string> | null = null;
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    if (name === 'user-agent') document['user_agent'] = value;
    else {
      others ??= {};
      others[name] = value;
    }
  }
  if (others !== null) document['headers'] = others;
}

function decisionsOf(request: RecordedRequest): JsonObject[] {
  const { passes, refusedBy, answeredBy, decidingRule } = request;
  const decisions: (Decision & JsonObject)[] = [];
  for (let at = 0; at < passes.length; at += 2) {
    const module = passes[at] as string | undefined;
    if (module !== undefined)
      decisions.push({ ...passedBy(module, passes[at + 1] as PassedBy), ...wait(request, module) });
  }
  const by = refusedBy ?? answeredBy;
  if (by === null) return decisions;
  const colon = by.indexOf(':');
  const module = by.slice(0, colon);
  decisions.push({
    module,
    decision: refusedBy === null ? 'answer' : 'refuse',
    reason: by.slice(colon + 1),
    ...(decidingRule !== null && { rule: decidingRule }),
    ...wait(request, module),
  });
  return decisions;
}

function passedBy(module: string, { reason, rule, wouldRefuse }: PassedBy): Decision {
  if (wouldRefuse !== undefined)
    return { module, decision: 'pass', reason: 'would_refuse', rule: wouldRefuse.rule ?? 'none' };
  return { module, decision: 'pass', reason, ...(rule !== undefined && { rule: rule.text }) };
}

function wait({ waits }: RecordedRequest, module: string): { readonly ms?: number } {
  const at = waits.indexOf(module);
  return at === -1 ? {} : { ms: rounded(waits[at + 1] as number) as number };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}
