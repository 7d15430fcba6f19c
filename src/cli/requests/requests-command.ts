import type { Transport } from '../../client/transport.ts';
import { type FlagForm, type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import { OUTPUT_FLAGS } from '../changes/output-flag.ts';
import { runWithApi } from '../changes/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { listRequests, showRequest } from './list-requests.ts';
import { FILTER_NAMES, tailRequests } from './tail-requests.ts';

interface Subcommand {
  readonly flags: readonly (readonly [string, FlagForm])[];
  run(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<number>;
}

const FILTERS = [...FILTER_NAMES, 'since'].map((name) => [name, 'value'] as const);
const LIST: Subcommand = { flags: [...FILTERS, ['limit', 'value']], run: listRequests };

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  ['tail', { flags: [...FILTERS, ['count', 'value']], run: tailRequests }],
  ['show', { flags: [], run: showRequest }],
]);

const HELP = `
Usage: postern requests [FLAGS]
       postern requests show ID [FLAGS]
       postern requests tail [FLAGS]

Without a subcommand: list the last requests of all nodes, newest first.

  show ID             print one request: what each module decided, how long it took, which target it had
  tail                print requests as they finish, until interrupted

  --host              list, tail: only requests for this host
  --status            list, tail: only requests with this status, such as 404, or a class such as 5xx
  --user              list, tail: only requests of the user, service account or guest link with this id
  --route             list, tail: only requests of the route with this id
  --since             list, tail: only requests that finished since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z
  --limit             list: number of requests, at most 100 (default 50)
  --count             tail: stop after this number of requests
  --output            table or json (default table); -o for short
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

The id of a request is the value of the Postern-Request-Id header of its response; error pages show it. Each node keeps its last
requests in memory: the setting request_history says how many.

Exit codes: 0 success, 1 rejected by the API, 2 invalid usage, 3 server unreachable.
`;

/** Requests that happened. */
export const requestsCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const [name = ''] = args;
    const isList = name === '' || name.startsWith('-');
    const subcommand = isList ? LIST : SUBCOMMANDS.get(name);
    if (subcommand === undefined) {
      throw usage(
        `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS.keys())} See postern requests --help`,
      );
    }
    const known = new Map([...CONNECTION_FLAGS, ...OUTPUT_FLAGS, ...subcommand.flags]);
    const parsed = parseFlags(isList ? args : args.slice(1), known);
    return runWithApi(context, async () => subcommand.run(await openTransport(parsed, context), parsed, context));
  },
};
