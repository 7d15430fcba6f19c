import type { Transport } from '../../client/transport.ts';
import { type FlagForm, type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import type { Command, CommandContext } from '../command.ts';
import { WATCH_FLAGS, watch, watchInterval } from '../output/watch.ts';
import { listChanges } from './list-changes.ts';
import { OUTPUT_FLAGS } from './output-flag.ts';
import { runWithApi } from './run-with-api.ts';
import { showChange } from './show-change.ts';
import { verifyChanges } from './verify-changes.ts';

interface Subcommand {
  readonly flags: readonly (readonly [string, FlagForm])[];
  run(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<number>;
}

const LIST: Subcommand = {
  flags: [
    ['since', 'value'],
    ['until', 'value'],
    ['object', 'value'],
    ['author', 'value'],
    ['limit', 'value'],
    ...WATCH_FLAGS,
  ],
  run: listChanges,
};

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  ['show', { flags: [], run: showChange }],
  ['verify', { flags: [], run: verifyChanges }],
]);

const HELP = `
Usage: postern changes [FLAGS]
       postern changes show REVISION [FLAGS]
       postern changes verify [FLAGS]

Without a subcommand: list changes of the configuration, newest first.

  show REVISION       print who made a change, and what it changed, field by field; secrets are masked
  verify              check that nobody changed or removed an entry of the history in the database

  --since             list: only changes since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z
  --until             list: only changes before then, in the same forms
  --object            list: only changes of the resource with this id or name, or of its modules: app.example.com
  --author            list: only changes by the API key with this id or description
  --limit             list: number of changes (default 50)
  --output            table, json, yaml or, for a list, id (default table); -o for short. verify: table or json
  --watch             list: repeat until interrupted, and show what changes
  --every             list, with --watch: seconds between two requests (default 2)
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

"postern undo REVISION" takes a change back; "postern confirm" keeps one that waits for its confirmation.

Exit codes: 0 success, 1 rejected by the API, or verify: the history is broken, 2 invalid usage, 3 server unreachable.
`;

/** The history of the configuration. */
export const changesCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const [name = ''] = args;
    const isList = name === '' || name.startsWith('-');
    const subcommand = isList ? LIST : SUBCOMMANDS.get(name);
    if (subcommand === undefined) {
      throw usage(
        `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS.keys())} See postern changes --help`,
      );
    }
    const known = new Map([...CONNECTION_FLAGS, ...OUTPUT_FLAGS, ...subcommand.flags]);
    const parsed = parseFlags(isList ? args : args.slice(1), known);
    const everyMs = watchInterval(parsed.flags);
    const run = (to: CommandContext): Promise<number> =>
      runWithApi(to, async () => subcommand.run(await openTransport(parsed, to), parsed, to));
    return everyMs === null ? run(context) : watch(context, { everyMs }, run);
  },
};
