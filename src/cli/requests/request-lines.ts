import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { isJsonObject } from '../../lib/json.ts';
import { cellText, printable } from '../api/cell-text.ts';

/** A request as the API shows it. */
export interface ShownRequest extends JsonObject {
  readonly id: string;
  readonly at: string;
  readonly status: number;
  readonly duration_ms: number;
  readonly decisions: readonly ShownDecision[];
}

interface ShownDecision extends JsonObject {
  readonly module: string;
  readonly decision: string;
  readonly reason: string;
}

/** One line per request. */
export function requestLine(request: ShownRequest): string {
  const { id, at, status, method, host, path, client_address: client, target, refused_by: refusedBy } = request;
  const end = refusedBy ?? request['answered_by'] ?? target;
  return [
    at,
    id,
    String(status).padEnd(3),
    cellText(method).padEnd(4),
    `${cellText(host)}${path === null ? '' : cellText(path)}`,
    cellText(client),
    `${request.duration_ms} ms`,
    ...(end === undefined ? [] : [cellText(end)]),
  ].join('  ');
}

const LABELS: readonly (readonly [string, string])[] = [
  ['node', 'node'],
  ['client_address', 'client'],
  ['user', 'user'],
  ['user_agent', 'user agent'],
  ['edge', 'edge'],
  ['route', 'route'],
  ['error_code', 'error'],
  ['target', 'target'],
  ['tunnel_node', 'through node'],
];
const WIDTH = 14;

/** Everything about one request. */
export function requestDetails(request: ShownRequest): readonly string[] {
  const { id, at, method, host, path, query, status, timings } = request;
  const url = `${cellText(host)}${path === null ? '' : cellText(path)}${query === undefined ? '' : `?${cellText(query)}`}`;
  const lines = [`${cellText(method)} ${url}  →  ${status}`, row('request', id), row('at', at)];
  for (const [field, label] of LABELS) {
    const value = request[field];
    if (value !== undefined && value !== null) lines.push(row(label, value));
  }
  const { headers } = request;
  if (isJsonObject(headers)) for (const [name, value] of Object.entries(headers)) lines.push(row(name, value));
  lines.push(row('bytes', `${cellText(request['bytes_in'])} in, ${cellText(request['bytes_out'])} out`));
  if (isJsonObject(timings)) lines.push(row('timings', timingText(timings)));
  lines.push('decisions', ...decisionLines(request.decisions));
  return lines;
}

function timingText({ admitted_ms: admitted, answered_ms: answered, finished_ms: finished }: JsonObject): string {
  const parts = [
    ...(typeof admitted === 'number' ? [`admitted after ${admitted} ms`] : []),
    ...(typeof answered === 'number' ? [`answered after ${answered} ms`] : []),
    `finished after ${cellText(finished)} ms`,
  ];
  return parts.join(', ');
}

/** One line per module. */
function decisionLines(decisions: readonly ShownDecision[]): readonly string[] {
  if (decisions.length === 0) return ['  no module decides about requests of this route'];
  return decisions.map(({ module, decision, reason, rule, ms }) => {
    const by = typeof rule === 'string' ? ` (${printable(rule)})` : '';
    const after = typeof ms === 'number' ? ` after ${ms} ms` : '';
    return `  ${printable(module).padEnd(WIDTH)}  ${decision.padEnd(7)}  ${printable(reason)}${by}${after}`;
  });
}

function row(label: string, value: JsonValue): string {
  return `  ${label.padEnd(WIDTH)}  ${cellText(value)}`;
}
