import { PosternApiError } from '../../../client/call-errors.ts';
import { Resources } from '../../../client/generated/resources.ts';
import type { Setting } from '../../../client/generated/settings.ts';
import { isOwnLogin, issuerOf, ownLogin } from '../../../client/publish/edge-login.ts';
import {
  type Current,
  type EdgePlan,
  edgeUrl,
  listenerPort,
  planEdge,
  redirectUri,
} from '../../../client/publish/plan-edge.ts';
import type { WantedEdge } from '../../../client/publish/wanted-edge.ts';
import { listSiteEdges } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { shellWord } from '../../../kit/text/terminal-text.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { createTextSource, type TextSource } from '../api/text-source.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { type OutputFormat, outputFlag, outputFormat, printStructured } from '../output/output-format.ts';
import { painterFor } from '../output/terminal.ts';
import { CONNECTION, MESSAGE, switchFlag, textFlag } from '../shared-flags.ts';
import {
  GUARD_FLAGS,
  LOGIN_FLAGS,
  NO_IDENTITY_HOST,
  type ParsedLogin,
  PEOPLE_FLAGS,
  parseLogin,
  parsePeople,
  parseSite,
  parseTarget,
  readGuards,
} from './edge-arguments.ts';

/** What to do now. */
export function nextSteps(wanted: WantedEdge, plan: Pick<EdgePlan, 'edge' | 'route'>): readonly string[] {
  const url = edgeUrl(wanted, plan);
  const isOwn = isOwnLogin(wanted.login, plan.route);
  const hasLogin = !isOwn && (wanted.login !== null || issuerOf(plan.route) !== null);
  return [
    '',
    `Address:      ${printable(url)}`,
    ...(hasLogin ? [`Redirect URI: ${redirectUri(url)} (register it at the login provider)`] : []),
    `Try it:       curl -i ${shellWord(url)}`,
    'If curl does not trust the certificate: postern ca print > ca.pem, and add --cacert ca.pem',
  ];
}

export interface Published {
  readonly revision: number;
  readonly results: readonly {
    readonly body: { readonly id?: string; readonly backend?: { readonly id: string } } | null;
  }[];
}

export interface Publishing {
  readonly message: string;
  readonly isDryRun: boolean;
  /** Who remembers what the change makes; absent: nobody. */
  readonly owner?: JsonObject;
}

/** Rules about addresses only for a command that names some: the key may not be allowed to read them. */
export async function readCurrent(
  transport: Transport,
  { addresses = [], target }: Partial<Pick<WantedEdge, 'addresses' | 'target'>> = {},
): Promise<Current> {
  const resources = new Resources(transport);
  const [edges, backends, folders] = await Promise.all([
    listSiteEdges(resources),
    Array.fromAsync(resources.staticBackends.list()),
    target?.kind === 'folder' ? Array.fromAsync(resources.filesBackends.list()) : [],
  ]);
  if (addresses.length === 0) return { edges, backends, folders };
  const [rules, lists] = await Promise.all([
    Array.fromAsync(resources.ipPolicyRules.list()),
    Array.fromAsync(resources.ipPolicyLists.list()),
  ]);
  return { edges, backends, folders, addresses: { rules, withLists: lists.map((list) => list.ip_policy.id) } };
}

/** All operations of the plan in one change. */
export async function publishEdge(
  transport: Transport,
  { operations }: Pick<EdgePlan, 'operations'>,
  { message, isDryRun, owner }: Publishing,
): Promise<Published> {
  const body = { operations, dry_run: isDryRun, message, ...(owner !== undefined && { owner }) };
  const { text } = await transport.send({ method: 'POST', path: '/changesets', body });
  return JSON.parse(text) as Published;
}

const SYNTAX: CommandSyntax = {
  name: 'edge',
  usage: ['HOST[:PORT][/PATH] --to TARGET'],
  hasOperands: true,
  about:
    'Serves a host: makes the edge, the route, the backend and the login, in one change. Run again, it shows what is there (=), what it adds (+) and changes (~), and sends only the difference. It removes nothing, and it does not change access rules that are there: it says so and exits with 1. The port of a new edge, unless you name one, is the one that visitors use: 443 or the first of edge_host_ports if that setting lists ports, otherwise 443 if the server listens there, otherwise that of its first HTTPS listener. Requests for all paths below PATH go to the target.',
  flags: [
    textFlag(
      'to',
      'TARGET',
      "Where requests go: 127.0.0.1:3000, a port of the server's machine, http://web:8080, https://web:8443, a folder of that machine such as /srv/www, or the id of a backend.",
      { isRequired: true },
    ),
    ...LOGIN_FLAGS,
    ...PEOPLE_FLAGS,
    ...GUARD_FLAGS,
    switchFlag('dry-run', 'Let the server check the change, and store nothing.'),
    MESSAGE,
    outputFlag(),
  ],
  groups: [CONNECTION],
  examples: [
    'postern edge app.example.com --to 127.0.0.1:3000',
    'postern edge app.example.com --to 3000 --login --allow-groups ops',
    'postern edge staging.example.com --to 3000 --password',
    'postern edge sync.example.com --to 8384 --host-header localhost --only 192.0.2.0/24',
    'postern edge app.localhost:7443/admin --to 3000 --dry-run',
  ],
  exitCodes: {
    ...API_EXIT_CODES,
    0: 'done or nothing to do',
    1: 'rejected by the API, or an existing object prevents it',
  },
};

const EXIT_REFUSED = 1;

/** A host with its target in one command. */
export const edgeCommand: Command = {
  syntax: SYNTAX,
  run: async (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const format = outputFormat(parsed.flags);
    const source = createTextSource();
    const asked = await askedEdge(parsed, source, context);
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context, source);
      const settings = await readSettings(transport);
      const login = asked.login === 'own' ? ownLogin(settings) : asked.login;
      if (login === undefined) {
        context.warn(`postern: ${NO_IDENTITY_HOST}. Nothing was changed`);
        return EXIT_REFUSED;
      }
      const wanted = { ...asked, login, listenerPort: listenerPort(settings) };
      const plan = planEdge(wanted, await readCurrent(transport, wanted));
      if (plan.obstacle !== null) {
        context.warn(`postern: ${printable(plan.obstacle)}. Nothing was changed`);
        return EXIT_REFUSED;
      }
      const outcome = plan.operations.length === 0 ? null : await send(transport, plan, wanted, parsed);
      await report(plan, outcome, { wanted, isDryRun: isOn(parsed, 'dry-run'), format, context });
      return 0;
    });
  },
};

type AskedEdge = Omit<WantedEdge, 'login' | 'listenerPort'> & { readonly login: ParsedLogin };

async function askedEdge(parsed: ParsedFlags, source: TextSource, context: CommandContext): Promise<AskedEdge> {
  const { flags, positionals } = parsed;
  const people = parsePeople(parsed);
  const site = parseSite(positionals, 'edge', flags);
  const target = parseTarget(flags.get('to'));
  const file = flags.get('client-secret-file');
  const secret = file === undefined ? null : (await source.read(file, 'client-secret-file')).trim();
  const login = parseLogin(parsed, secret);
  return { ...site, target, login, ...people, ...(await readGuards(parsed, source, context)) };
}

/** Empty if the key may not read them. */
async function readSettings(transport: Transport): Promise<readonly Setting[]> {
  try {
    return await Array.fromAsync(new Resources(transport).settings.list());
  } catch (error) {
    if (error instanceof PosternApiError && error.status === 403) return [];
    throw error;
  }
}

function send(transport: Transport, plan: EdgePlan, wanted: WantedEdge, parsed: ParsedFlags): Promise<Published> {
  const message = parsed.flags.get('message') ?? `postern edge ${wanted.host}${wanted.path}`.slice(0, 200);
  return publishEdge(transport, plan, { message, isDryRun: isOn(parsed, 'dry-run') });
}

interface Report {
  readonly wanted: WantedEdge;
  readonly isDryRun: boolean;
  readonly format: OutputFormat;
  readonly context: CommandContext;
}

async function report(
  plan: EdgePlan,
  outcome: Published | null,
  { wanted, isDryRun: isDry, format, context }: Report,
): Promise<void> {
  const made = (path: RegExp): string | null => {
    const index = plan.operations.findIndex((operation) => operation.method === 'POST' && path.test(operation.path));
    return isDry || index === -1 ? null : (outcome?.results[index]?.body?.id ?? null);
  };
  const ids = { edge_id: plan.edge?.id ?? made(/https$/), route_id: plan.route?.id ?? made(/routes$/) };
  if (format === 'id') {
    if (ids.edge_id !== null) context.print(ids.edge_id);
  } else if (format === 'json' || format === 'yaml') {
    const { lines: changes, notes } = plan;
    const head = { url: edgeUrl(wanted, plan), dry_run: isDry, revision: outcome?.revision ?? null };
    printStructured({ ...head, ...ids, changed: plan.operations.length, changes, notes }, format, context);
  } else printText(plan, { wanted, isDryRun: isDry, format, context });
}

/** One line for each part of the plan. */
export function printPlanLines({ lines }: Pick<EdgePlan, 'lines'>, context: CommandContext): void {
  const paint = painterFor(context);
  const colors = { '+': 'green', '~': 'yellow', '-': 'red', '=': 'dim' } as const;
  for (const line of lines) context.print(paint(printable(line), colors[line[0] as keyof typeof colors]));
}

function printText(plan: EdgePlan, { wanted, isDryRun: isDry, context }: Report): void {
  printPlanLines(plan, context);
  for (const note of plan.notes) context.warn(`postern: ${printable(note)}`);
  if (plan.operations.length === 0) context.print('nothing to change');
  else if (isDry) context.print('the server accepts this change; nothing was stored');
  if (isDry) return;
  for (const line of nextSteps(wanted, plan)) context.print(line);
}
