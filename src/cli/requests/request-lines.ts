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

/** Time, status and method. */
const HEAD = 21;
const MIN_TARGET = 20;
const MIN_ID = 8;

/** One line per request. `columns`: those of the terminal, with local time and the id last; null: a pipe, where nothing is cut. */
export function requestLine(request: ShownRequest, columns: number | null): string {
  return columns === null ? wholeLine(request) : fittedLine(request, columns);
}

/** The id gives way first, then the path. What does not fit at all is left out. */
function fittedLine(request: ShownRequest, columns: number): string {
  const { id, at, status, method, host, path, client_address: client, target, refused_by: refusedBy } = request;
  const end = refusedBy ?? request['answered_by'] ?? target;
  const first = [
    new Date(at).toTimeString().slice(0, 8),
    String(status).padEnd(3),
    cellText(method).padEnd(4),
    `${cellText(host)}${path === null ? '' : cellText(path)}`,
  ].join('  ');
  const rest = [`${request.duration_ms} ms`, cellText(client), ...(end === undefined ? [] : [cellText(end)])];
  // Those that fit beside a short path.
  const room = (parts: readonly string[]): number => columns - parts.reduce((sum, part) => sum + part.length + 2, 0);
  const needed = Math.min(first.length, HEAD + MIN_TARGET);
  while (rest.length > 1 && room(rest) < needed) rest.pop();
  const line = [cut(first, room(rest)), ...rest].join('  ');
  const left = columns - line.length - 2;
  return left < MIN_ID ? line : `${line}  ${cut(id, left)}`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}

function wholeLine(request: ShownRequest): string {
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
