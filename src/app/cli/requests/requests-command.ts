import { queryString } from '../../../client/fill-path.ts';
import { SITE_EDGE, SITE_ROUTE } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { type Flag, isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { isId, Names } from '../names/names.ts';
import { printable } from '../output/cell-text.ts';
import { isJsonOutput, outputFlag, printJson } from '../output/output-format.ts';
import { printTableLines } from '../output/table.ts';
import { terminalWidth } from '../output/terminal.ts';
import { CONNECTION, textFlag, timeFlag, UTC } from '../shared-flags.ts';
import {
  CallerNames,
  readRequest,
  requestDetails,
  requestTable,
  type ShownRequest,
  wholeLine,
} from './request-lines.ts';
import { filtersOf, tailRequests } from './tail-requests.ts';

const DEFAULT_LIMIT = '50';

/** The newest requests, one line each. */
export async function listRequests(
  transport: Transport,
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const { flags, positionals } = parsed;
  if (positionals.length > 0) throw usage('unexpected argument: see postern requests --help');
  const limit = flags.get('limit') ?? DEFAULT_LIMIT;
  if (!/^([1-9]\d?|100)$/.test(limit)) throw usage('--limit must be a whole number from 1 to 100');
  const since = flags.get('since');
  const query = { ...filtersOf(flags), limit, ...(since !== undefined && { since: timeFlag('since', since) }) };
  const { text } = await transport.send({ method: 'GET', path: `/requests${queryString(query)}` });
  if (isJsonOutput(flags)) {
    printJson(text, context);
    return 0;
  }
  const { requests, nodes } = JSON.parse(text) as {
    readonly requests: readonly ShownRequest[];
    readonly nodes: readonly { readonly name: string; readonly answered: boolean }[];
  };
  if (requests.length === 0) context.warn('none');
  const columns = terminalWidth(context);
  if (columns === null) for (const request of requests) context.print(wholeLine(request));
  else if (requests.length > 0) {
    const callers = new CallerNames(transport);
    const read = await Promise.all(requests.map((request) => readRequest(request, callers)));
    printTableLines(requestTable(read, columns, isOn(parsed, 'utc')), context);
  }
  const silent = nodes.filter(({ answered }) => !answered).map(({ name }) => name);
  if (silent.length > 0) context.warn(`postern: no answer from ${silent.join(', ')}: their requests are missing`);
  return 0;
}

/** One request with the decisions of its modules. */
export async function showRequest(
  transport: Transport,
  { flags, positionals }: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const [id, ...others] = positionals;
  if (id === undefined || others.length > 0)
    throw usage('postern requests show takes the id of one request: the value of its Postern-Request-Id header');
  if (!id.startsWith('rq_'))
    throw usage(
      `${printable(id)} is not the id of a request: ids start with rq_, and "postern requests -o json" lists them`,
    );
  const isJson = isJsonOutput(flags);
  const { text } = await transport.send({ method: 'GET', path: `/requests/${encodeURIComponent(id)}` });
  if (isJson) printJson(text, context);
  else for (const line of requestDetails(JSON.parse(text) as ShownRequest)) context.print(line);
  return 0;
}

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { list: listRequests, show: showRequest, tail: tailRequests } satisfies Record<string, Run>;

const CALLERS = ['app_user', 'service_account', 'guest_link'];

const FILTERS: readonly Flag[] = [
  textFlag('host', 'HOST', 'Only requests for this host.', { completedBy: [SITE_EDGE.kind] }),
  textFlag('status', 'STATUS', 'Only requests with this status, such as 404, or a class such as 5xx.'),
  textFlag(
    'user',
    'PERSON',
    'Only requests of this person, service account or guest link: e-mail address, name or id.',
    { completedBy: CALLERS },
  ),
  textFlag('route', 'ROUTE', 'Only requests of this route, by its id or as host/path.', {
    completedBy: [SITE_ROUTE.kind],
  }),
  textFlag(
    'since',
    'TIME',
    'Only requests that finished since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z.',
  ),
];

const SYNTAX: CommandSyntax = {
  name: 'requests',
  about: 'Shows requests that happened. Without a subcommand it lists the last ones of all nodes, newest first.',
  subcommands: [
    {
      name: 'list',
      isDefault: true,
      about: 'list the last requests of all nodes, newest first',
      flags: [...FILTERS, textFlag('limit', 'NUMBER', 'Number of requests, at most 100.', { default: '50' })],
    },
    {
      name: 'show',
      operands: 'ID',
      about: 'print one request: what each module decided, how long it took, which target it had',
    },
    {
      name: 'tail',
      about: 'print requests as they finish, until interrupted',
      flags: [...FILTERS, textFlag('count', 'NUMBER', 'Stop after this number of requests.')],
    },
  ],
  flags: [outputFlag(['table', 'json']), UTC],
  groups: [CONNECTION],
  notes: [
    'The id of a request is the value of the Postern-Request-Id header of its response; error pages show it. Each node keeps its last requests in memory: the setting request_history says how many. request_history_file, which is on by default, also keeps those of the last hour, at most 2,000, over a restart.',
    'A name that no site has, such as a mistyped host, is shown with the reason "no site for this name": the last 20 of each node, and at most 5 per second, beside the others. With several workers, each has its own 20.',
  ],
  examples: [
    'postern requests --host app.example.com --status 5xx',
    'postern requests tail',
    'postern requests show ID',
  ],
  exitCodes: API_EXIT_CODES,
};

/** Requests that happened. */
export const requestsCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const run = RUNS[parsed.subcommand as keyof typeof RUNS];
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      return run(transport, await withIds(transport, parsed, context), context);
    });
  },
};

/** The API filters by ids. */
async function withIds(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<ParsedFlags> {
  const names = new Names(transport, context);
  const [route, user] = [parsed.flags.get('route'), parsed.flags.get('user')];
  const flags = new Map(parsed.flags);
  if (user !== undefined) flags.set('user', await names.idOfKinds(CALLERS, user));
  if (route === undefined || isId(route)) return { ...parsed, flags };
  const found = await names.route(route);
  if (found === null)
    throw usage(
      `--route: no route is named ${printable(route)}. "postern status" lists sites; write app.example.com/path`,
    );
  return { ...parsed, flags: flags.set('route', found.routeId) };
}
