import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { PassedBy, RecordedRequest } from './recorded-request.ts';

/** What a module decided about a request. */
interface Decision {
  readonly module: string;
  readonly decision: 'pass' | 'refuse';
  readonly reason: string;
  readonly rule?: string;
  /** Milliseconds, for a module that did not answer at once. */
  readonly ms?: number;
}

export interface RequestDocument extends JsonObject {
  readonly id: string;
}

/** A request as nodes report it to each other, and as the API shows it with references instead of ids. */
export function requestDocument(request: RecordedRequest, node: string): RequestDocument {
  const { headers, query, errorCode, userId, userKind, target, tunnelNode, refusedBy } = request;
  const listed: Record<string, string> = {};
  for (let at = 0; at < headers.length; at += 2) listed[headers[at] as string] = headers[at + 1] as string;
  const { 'user-agent': userAgent, ...others } = listed;
  return {
    id: request.id,
    at: rfc3339(request.startedAtMs),
    node,
    method: request.method,
    host: request.host,
    path: request.path,
    ...(query !== null && { query }),
    status: request.status,
    ...(errorCode !== null && { error_code: errorCode }),
    ...(refusedBy !== null && { refused_by: refusedBy }),
    edge: request.edgeId,
    route: request.routeId,
    client_address: request.clientAddress,
    ...(userId !== null && { user: userId }),
    ...(userKind !== null && { user_kind: userKind }),
    ...(userAgent !== undefined && { user_agent: userAgent }),
    ...(Object.keys(others).length > 0 && { headers: others }),
    duration_ms: rounded(request.durationMs),
    bytes_in: request.bytesIn,
    bytes_out: request.bytesOut,
    decisions: decisionsOf(request).map((decision) => ({ ...decision })),
    ...(target !== null && { target }),
    ...(tunnelNode !== null && { tunnel_node: tunnelNode }),
    timings: {
      admitted_ms: rounded(request.admittedMs),
      answered_ms: rounded(request.answeredMs),
      finished_ms: rounded(request.durationMs),
    },
  };
}

function decisionsOf(request: RecordedRequest): readonly Decision[] {
  const { passes, refusedBy, refusingRule } = request;
  const decisions: Decision[] = [];
  for (let at = 0; at < passes.length; at += 2) {
    const module = passes[at] as string | undefined;
    if (module !== undefined)
      decisions.push({ ...passedBy(module, passes[at + 1] as PassedBy), ...wait(request, module) });
  }
  if (refusedBy === null) return decisions;
  const colon = refusedBy.indexOf(':');
  const module = refusedBy.slice(0, colon);
  decisions.push({
    module,
    decision: 'refuse',
    reason: refusedBy.slice(colon + 1),
    ...(refusingRule !== null && { rule: refusingRule }),
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
