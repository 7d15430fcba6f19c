import type { Transport } from '../../client/transport.ts';
import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import { openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../api/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { isId } from '../names/is-id.ts';
import { Names } from '../names/names.ts';
import { outputFlag } from '../output/output-format.ts';
import { parseCommand } from '../parse-command.ts';
import { CONNECTION, textFlag, UTC } from '../shared-flags.ts';
import { listRequests, showRequest } from './list-requests.ts';
import { tailRequests } from './tail-requests.ts';

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { list: listRequests, show: showRequest, tail: tailRequests } satisfies Record<string, Run>;

const CALLERS = ['app_user', 'service_account', 'guest_link'];

const FILTERS: readonly Flag[] = [
  textFlag('host', 'HOST', 'Only requests for this host.', { completedBy: ['https_edge'] }),
  textFlag('status', 'STATUS', 'Only requests with this status, such as 404, or a class such as 5xx.'),
  textFlag(
    'user',
    'PERSON',
    'Only requests of this person, service account or guest link: e-mail address, name or id.',
    { completedBy: CALLERS },
  ),
  textFlag('route', 'ROUTE', 'Only requests of this route, by its id or as host/path.', {
    completedBy: ['https_edge_route'],
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
