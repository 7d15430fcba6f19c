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
import { CONNECTION, textFlag } from '../shared-flags.ts';
import { listRequests, showRequest } from './list-requests.ts';
import { tailRequests } from './tail-requests.ts';

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { list: listRequests, show: showRequest, tail: tailRequests } satisfies Record<string, Run>;

const FILTERS: readonly Flag[] = [
  textFlag('host', 'HOST', 'Only requests for this host.'),
  textFlag('status', 'STATUS', 'Only requests with this status, such as 404, or a class such as 5xx.'),
  textFlag('user', 'ID', 'Only requests of the person, service account or guest link with this id.'),
  textFlag('route', 'ROUTE', 'Only requests of this route, by its id or as host/path.'),
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
  flags: [outputFlag(['table', 'json'])],
  groups: [CONNECTION],
  notes: [
    'The id of a request is the value of the Postern-Request-Id header of its response; error pages show it. Each node keeps its last requests in memory: the setting request_history says how many. request_history_file, which is on by default, also keeps those of the last hour, at most 2,000, over a restart.',
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
      return run(transport, await withRouteId(transport, parsed, context), context);
    });
  },
};

/** The API filters by ids. */
async function withRouteId(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<ParsedFlags> {
  const given = parsed.flags.get('route');
  if (given === undefined || isId(given)) return parsed;
  const found = await new Names(transport, context).route(given);
  if (found === null)
    throw usage(
      `--route: no route is named ${printable(given)}. "postern status" lists sites; write app.example.com/path`,
    );
  return { ...parsed, flags: new Map([...parsed.flags, ['route', found.routeId]]) };
}
