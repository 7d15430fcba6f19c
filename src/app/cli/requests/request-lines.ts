import type { Transport } from '../../../client/transport.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { cellText, printable, timeText } from '../output/cell-text.ts';

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

/** Refusals of the edge itself, whose reasons are words: `edge:no_site_for_this_name`. */
const BY_EDGE = 'edge:';
/** Time and status. */
const HEAD = 15;
const MIN_TARGET = 20;
const WIDE_TARGET = 36;
const MAX_REASON = 40;
const MAX_WHO = 40;

/** A request and who made it: the name of somebody who logged in, otherwise the address. */
interface ReadRequest {
  readonly request: ShownRequest;
  readonly who: string;
}

/** For a pipe: nothing is cut. */
export function wholeLine(request: ShownRequest): string {
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

/**
 * For a terminal, one request as it finishes. The reason of a refusal stays longest, then who it was; the path gives
 * way to them.
 */
export function fittedLine({ request, who }: ReadRequest, columns: number, isUtc: boolean): string {
  const { at, status } = request;
  const first = [clockText(at, isUtc), statusText(status).padEnd(3), urlText(request)].join('  ');
  const rest = [endText(request), who, `${request.duration_ms} ms`].filter((text) => text !== '');
  // The parts that fit beside a short path.
  const room = (parts: readonly string[]): number => columns - parts.reduce((sum, part) => sum + part.length + 2, 0);
  while (rest.length > 1 && room(rest) < Math.min(first.length, HEAD + MIN_TARGET)) rest.pop();
  return [cut(first, room(rest)), ...rest].join('  ');
}

/** For a terminal: a table with a head. Columns that do not fit beside a short path are left out, the id first. */
export function requestTable(requests: readonly ReadRequest[], columns: number, isUtc: boolean): readonly string[] {
  const column = (head: string, cellOf: (read: ReadRequest) => string, maxWidth = Number.POSITIVE_INFINITY) => {
    const cells = requests.map(cellOf);
    const width = Math.min(maxWidth, Math.max(head.length, ...cells.map((cell) => cell.length)));
    return { head, cells, width, isEmpty: cells.every((cell) => cell === '') };
  };
  const first = [
    column('TIME', ({ request }) => clockText(request.at, isUtc)),
    column('CODE', ({ request }) => statusText(request.status)),
  ];
  const url = column('REQUEST', ({ request }) => urlText(request));
  let left = columns - first.reduce((sum, { width }) => sum + width + 2, 0);
  const fits = ({ isEmpty, width }: (typeof first)[number], beside: number): boolean => {
    if (isEmpty || width + 2 > left - Math.min(url.width, beside)) return false;
    left -= width + 2;
    return true;
  };
  const reason = column('REASON', ({ request }) => endText(request), MAX_REASON);
  const who = column('WHO', (read) => read.who, MAX_WHO);
  const took = column('TOOK', ({ request }) => `${request.duration_ms} ms`);
  const id = column('ID', ({ request }) => request.id);
  const more = [
    ...[reason, who].filter((each) => fits(each, MIN_TARGET)),
    ...[took, id].filter((each) => fits(each, WIDE_TARGET)),
  ];
  const shown = [...first, { ...url, width: Math.min(url.width, left) }, ...more];
  const line = (texts: readonly string[]): string => {
    let text = '';
    let start = 0;
    for (const [at, { width }] of shown.entries()) {
      const cell = texts[at] ?? '';
      // Most requests have no reason: their path goes on into that column.
      const room = texts[at + 1] === '' ? width + 2 + (shown[at + 1]?.width ?? 0) : width;
      if (cell !== '') text = text.padEnd(start) + cut(cell, room);
      start += width + 2;
    }
    return text;
  };
  return [
    line(shown.map(({ head }) => head)),
    ...requests.map((_, row) => line(shown.map(({ cells }) => cells[row] ?? ''))),
  ];
}

/** Today's requests have the time of the day, others their day too. */
function clockText(at: string, isUtc: boolean): string {
  const text = timeText(at, isUtc) ?? at;
  const today = timeText(new Date().toISOString(), isUtc)?.slice(0, 10) ?? '';
  return text.startsWith(today) ? text.slice(11) : text.slice(5, 16);
}

function statusText(status: number): string {
  return status === 0 ? '-' : String(status);
}

/** A name that no site has is known without its request. */
function urlText({ method, host, path }: ShownRequest): string {
  const url = `${cellText(host)}${path === null ? '' : cellText(path)}`;
  return method === null ? url : `${cellText(method)} ${url}`;
}

/** Why it ended early; empty if it did not. */
function endText(request: ShownRequest): string {
  const by = request['refused_by'] ?? request['answered_by'];
  if (typeof by !== 'string') return '';
  return printable(by.startsWith(BY_EDGE) ? by.slice(BY_EDGE.length).replaceAll('_', ' ') : by);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
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

/** Where the API has those who make requests. A workload is named by its subject. */
const PATHS: Readonly<Record<string, string>> = {
  user: '/app/users',
  service_account: '/service_accounts',
  guest: '/guest_links',
};
const NAMES = ['email', 'name', 'username', 'description'];
const MAX_KNOWN = 500;

/** What people call those who made requests. Each is asked for once. */
export class CallerNames {
  readonly #transport: Transport;
  readonly #known = new Map<string, Promise<string | null>>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Null: nobody logged in. An id without a name, or without the right to read it, stays an id. */
  of({ user, user_kind: kind }: JsonObject): Promise<string | null> {
    if (typeof user !== 'string') return Promise.resolve(null);
    const path = typeof kind === 'string' ? PATHS[kind] : undefined;
    if (path === undefined) return Promise.resolve(user);
    const known = this.#known.get(user);
    if (known !== undefined) return known;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    const name = this.#read(`${path}/${encodeURIComponent(user)}`).then((found) => found ?? user);
    this.#known.set(user, name);
    return name;
  }

  async #read(path: string): Promise<string | null> {
    const { text } = await this.#transport.send({ method: 'GET', path }).catch(() => ({ text: '{}' }));
    const document: unknown = JSON.parse(text);
    if (!isJsonObject(document)) return null;
    const names = NAMES.map((field) => document[field]);
    return names.find((name): name is string => typeof name === 'string' && name !== '') ?? null;
  }
}

/** Somebody who logged in is known by a name, anybody else by an address. */
export async function readRequest(request: ShownRequest, callers: CallerNames): Promise<ReadRequest> {
  return { request, who: printable((await callers.of(request)) ?? cellText(request['client_address'])) };
}
