import { PosternApiError } from '../../../client/call-errors.ts';
import type { ManagedCertificate } from '../../../client/generated/managed-certificates.ts';
import type { Node } from '../../../client/generated/nodes.ts';
import { Resources } from '../../../client/generated/resources.ts';
import type { TlsCertificate } from '../../../client/generated/tls-certificates.ts';
import type { TunnelSession } from '../../../client/generated/tunnel-sessions.ts';
import type { Tunnel } from '../../../client/generated/tunnels.ts';
import { listSiteEdges, type SiteEdge } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { EXPIRES_SOON_DAYS, remainingTime } from '../../../control/findings/subjects/certificates.ts';
import { storeCheck } from '../../../control/findings/subjects/store.ts';
import { type Finding, findingTable } from '../../../kit/findings.ts';
import type { ParsedFlags } from '../../../kit/flags.ts';
import { wrapText } from '../../../kit/text/terminal-text.ts';
import { apiAccess, CommandTransport, runWithApi } from '../api/api-access.ts';
import { createTextSource } from '../api/text-source.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { serverFindings, shownFinding } from '../doctor/report.ts';
import { printable } from '../output/cell-text.ts';
import { type OutputFormat, outputFlag, outputFormat, printStructured } from '../output/output-format.ts';
import { type Painter, painterFor, sayWhileSlow, terminalWidth } from '../output/terminal.ts';
import { WATCH_FLAGS, watch, watchInterval } from '../output/watch.ts';
import { CONNECTION } from '../shared-flags.ts';

/** Everything on the screen. A part that the key may not read is null. */
export interface Status {
  readonly health: ServerHealth;
  readonly nodes: readonly Node[] | null;
  readonly edges: readonly SiteEdge[] | null;
  readonly agents: readonly TunnelSession[] | null;
  readonly tunnels: readonly Tunnel[] | null;
  readonly expiring: readonly ExpiringCertificate[];
  /** Without those that are fine. */
  readonly findings: readonly Finding[];
  /** Checks that the key may not read the results of. */
  readonly skipped: readonly string[];
}

export async function readStatus(transport: Transport, nowMs: number): Promise<Status> {
  const resources = new Resources(transport);
  const health = await healthOf(transport);
  const [nodes, edges, agents, tunnels, managed, uploaded] = await Promise.all([
    allowed(() => Array.fromAsync(resources.nodes.list())),
    allowed(() => listSiteEdges(resources)),
    allowed(() => Array.fromAsync(resources.tunnelSessions.list())),
    allowed(() => Array.fromAsync(resources.tunnels.list())),
    allowed(() => Array.fromAsync(resources.managedCertificates.list())),
    allowed(() => Array.fromAsync(resources.tlsCertificates.list())),
  ]);
  const told = await serverFindings(transport);
  return {
    health,
    nodes,
    edges,
    agents,
    tunnels,
    expiring: expiringCertificates({ managed: managed ?? [], uploaded: uploaded ?? [], nowMs }),
    findings: [
      ...healthFindings(health, told.findings),
      ...told.findings.filter(({ level }) => level === 'problem' || level === 'warning'),
    ],
    skipped: told.skipped,
  };
}

/** Null when the key lacks the scope: the rest is shown anyway. */
async function allowed<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PosternApiError && error.status === 403) return null;
    throw error;
  }
}

const ofServer = findingTable('server', {
  server_not_ready: {
    level: 'problem',
    text: ({ status }: { readonly status: string }) => `the server is ${status}`,
    advice: 'see its log, or run postern doctor',
  },
  store_not_ok: {
    level: 'problem',
    text: ({ store }: { readonly store: string }) => `the store is ${store}`,
    advice: 'see the log of the server',
  },
});

/** The server's own list says why its store does not work. */
function healthFindings({ status, store }: ServerHealth, told: readonly Finding[]): readonly Finding[] {
  if (told.some(({ check }) => check === storeCheck.name)) return [];
  return [
    ...(status === 'ready' ? [] : [ofServer.found('server_not_ready', { status })]),
    ...(store === null || store === 'ok' ? [] : [ofServer.found('store_not_ok', { store })]),
  ];
}

interface ServerHealth {
  /** `ready`, `starting`, `draining`. */
  readonly status: string;
  /** Null: something else than a server answered. */
  readonly store: string | null;
}

interface HealthBody {
  readonly status?: string;
  readonly store?: { readonly status?: string };
}

/** A server that is not ready answers 503 with the same fields. */
async function healthOf(transport: Transport): Promise<ServerHealth> {
  const text = await transport.send({ method: 'GET', path: '/healthz?verbose' }, { maxRetries: 0 }).then(
    (answer) => answer.text,
    (error: unknown) => {
      if (error instanceof PosternApiError) return error.text;
      throw error;
    },
  );
  const { status, store } = parsed(text);
  return { status: status ?? 'not ready', store: store?.status ?? null };
}

function parsed(text: string): HealthBody {
  try {
    return JSON.parse(text) as HealthBody;
  } catch {
    return {};
  }
}

interface ExpiringCertificate {
  readonly name: string;
  readonly not_after: string;
  /** Negative when it has expired. */
  readonly days: number;
  readonly renewal: 'automatic' | 'manual';
}

interface Certificates {
  readonly managed: readonly ManagedCertificate[];
  readonly uploaded: readonly TlsCertificate[];
  readonly nowMs: number;
}

/** Certificates that end soon or have ended, the first first. */
function expiringCertificates({ managed, uploaded, nowMs }: Certificates): readonly ExpiringCertificate[] {
  const rows = [
    ...managed.map(({ hostname, not_after: end }) => ({ name: hostname, end, renewal: 'automatic' as const })),
    ...uploaded.map(({ id, subject_alternative_names: names, subject_common_name: common, not_after: end }) => ({
      name: names.dns_names[0] ?? (common === '' ? id : common),
      end,
      renewal: 'manual' as const,
    })),
  ];
  return rows
    .flatMap(({ name, end, renewal }) => {
      if (end === null) return [];
      const { state, days } = remainingTime(Date.parse(end), nowMs);
      return state === 'fine' ? [] : [{ name, not_after: end, days, renewal }];
    })
    .sort((a, b) => a.days - b.days);
}

/** Lines of one part: one screen has room for all parts. */
const MAX_LINES = 5;
const LABEL_WIDTH = 14;
const UNREADABLE = 'not readable with this API key';

/** One screen, with lines that break at words; a width of null is that of a pipe. */
export function statusText(
  status: Status,
  url: string,
  { paint, width }: { readonly paint: Painter; readonly width: number | null },
): readonly string[] {
  const lines = statusLines(status, url, paint);
  return width === null ? lines : lines.flatMap((line) => wrapped(line, width));
}

/** Later lines of a row stand below its text. */
function wrapped(line: string, width: number): readonly string[] {
  const isRow = /^.{13} \S/.test(line) && (line.startsWith(' '.repeat(LABEL_WIDTH)) || /^[A-Z][a-z ]+ {2}/.test(line));
  const [head, indent] = isRow ? [line.slice(0, LABEL_WIDTH), LABEL_WIDTH] : ['', line.startsWith('  ') ? 2 : 0];
  const text = line.slice(head.length).trimStart();
  const rest = ' '.repeat(isRow ? indent : 2);
  return wrapText(text, width - Math.max(indent, 2)).map((each, at) =>
    at === 0 ? `${head === '' ? ' '.repeat(indent) : head}${each}` : `${rest}${each}`,
  );
}

function statusLines(status: Status, url: string, paint: Painter): readonly string[] {
  const { health, nodes, edges, agents, tunnels, expiring, findings, skipped } = status;
  const versions = [...new Set((nodes ?? []).filter((node) => node.status !== 'lost').map(({ version }) => version))];
  const state = paint(printable(health.status), health.status === 'ready' ? 'green' : 'red');
  const version = versions.length === 0 ? '' : `, version ${versions.map(printable).join(' and ')}`;
  const store = health.store === null ? '' : `, store ${printable(health.store)}`;
  const routes = (edges ?? []).reduce((sum, edge) => sum + edge.routes.length, 0);
  return [
    row('Server', `${state}${version}${store}, ${printable(url)}`),
    ...part('Nodes', nodes, (node) => `${printable(node.name)} ${node.status}, ${counted(node.agents, 'agent')}`),
    row('Edges', edges === null ? UNREADABLE : `${edges.length}, with ${counted(routes, 'route')}`),
    ...(edges ?? [])
      .slice(0, MAX_LINES)
      .map(({ hostports, id }) =>
        row('', printable(hostports.length === 0 ? `${id} (no host)` : hostports.join(', '))),
      ),
    ...more(edges),
    ...part('Agents', agents, ({ ip, agent_version: version, os, metadata }) => {
      return printable([ip, `version ${version}`, os, metadata].filter((text) => text !== '').join(', '));
    }),
    row('Tunnels', tunnels === null ? UNREADABLE : String(tunnels.length)),
    ...expiringRows(expiring, paint),
    ...findingRows(findings, paint),
    ...(skipped.length === 0 ? [] : [row('Not checked', `${skipped.join(', ')}: ${UNREADABLE}`)]),
  ];
}

function expiringRows(expiring: Status['expiring'], paint: Painter): readonly string[] {
  if (expiring.length === 0) return [row('Certificates', `none expires within ${EXPIRES_SOON_DAYS} days`)];
  const lines = expiring.slice(0, MAX_LINES).map(({ name, not_after: end, days, renewal }) => {
    const when = days < 0 ? 'expired on' : 'expires on';
    return paint(`${printable(name)} ${when} ${end.slice(0, 10)}, renewal is ${renewal}`, days < 7 ? 'red' : 'yellow');
  });
  return [...lines.map((line, index) => row(index === 0 ? 'Certificates' : '', line)), ...more(expiring)];
}

function findingRows(findings: Status['findings'], paint: Painter): readonly string[] {
  if (findings.length === 0) return [row('Problems', paint('none', 'green'))];
  return [
    '',
    ...findings
      .slice(0, 2 * MAX_LINES)
      .flatMap(({ level, message, advice }) => [
        `${paint(level, level === 'problem' ? 'red' : 'yellow')}: ${printable(message)}`,
        ...(advice === undefined ? [] : [`  ${printable(advice)}`]),
      ]),
    ...more(findings, 2 * MAX_LINES),
  ];
}

function part<T>(label: string, items: readonly T[] | null, text: (item: T) => string): readonly string[] {
  if (items === null) return [row(label, UNREADABLE)];
  if (items.length === 0) return [row(label, 'none')];
  return [...items.slice(0, MAX_LINES).map((item, at) => row(at === 0 ? label : '', text(item))), ...more(items)];
}

function more(items: readonly unknown[] | null, shown = MAX_LINES): readonly string[] {
  return items !== null && items.length > shown ? [row('', `and ${items.length - shown} more`)] : [];
}

function row(label: string, text: string): string {
  return `${label.padEnd(LABEL_WIDTH)}${text}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const FORMATS: readonly OutputFormat[] = ['table', 'json', 'yaml'];
const EXIT_PROBLEMS = 1;

const SYNTAX: CommandSyntax = {
  name: 'status',
  about: `Shows the installation on one screen: version and health of the server, nodes, edges, agents, tunnels, certificates that expire within ${EXPIRES_SOON_DAYS} days, and problems. "postern doctor" checks more, and says what to do.`,
  flags: [outputFlag(FORMATS), ...WATCH_FLAGS],
  groups: [CONNECTION],
  notes: [
    'A part that the key may not read says so. The JSON has the fields ok, server, nodes, edges, agents, tunnels, expiring_certificates and findings.',
  ],
  examples: ['postern status', 'postern status --watch'],
  exitCodes: {
    ...API_EXIT_CODES,
    0: 'no problems (warnings are allowed)',
    1: 'problems found or rejected by the API',
  },
};

/** The state of an installation at a glance. */
export const statusCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const format = outputFormat(parsed.flags, FORMATS);
    const everyMs = watchInterval(parsed);
    const run = (to: CommandContext): Promise<number> => runWithApi(to, () => show(parsed, format, to));
    return everyMs === null ? run(context) : watch(context, { everyMs, format }, run);
  },
};

async function show(parsed: ParsedFlags, format: OutputFormat, context: CommandContext): Promise<number> {
  const access = await apiAccess(parsed, context, createTextSource());
  const status = await sayWhileSlow(
    context,
    () => `reading the state of ${access.url}`,
    () => readStatus(new CommandTransport(access), Date.now()),
  );
  const { url } = access;
  const isOk = status.findings.every(({ level }) => level !== 'problem');
  if (format === 'json' || format === 'yaml') printStructured(document(status, url, isOk), format, context);
  else {
    const screen = { paint: painterFor(context), width: terminalWidth(context) };
    for (const line of statusText(status, url, screen)) context.print(line);
  }
  return isOk ? 0 : EXIT_PROBLEMS;
}

/** For scripts: counts where the screen has lists. */
function document({ health, nodes, edges, agents, tunnels, expiring, findings }: Status, url: string, ok: boolean) {
  return {
    ok,
    server: { url, ...health, versions: [...new Set(nodes?.map(({ version }) => version))] },
    nodes: nodes?.map(({ name, status, version, agents: count }) => ({ name, status, version, agents: count })) ?? null,
    edges: edges === null ? null : { count: edges.length, routes: edges.flatMap(({ routes }) => routes).length },
    agents: agents?.length ?? null,
    tunnels: tunnels?.length ?? null,
    expiring_certificates: expiring,
    findings: findings.map(shownFinding),
  };
}
