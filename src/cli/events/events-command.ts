import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { Transport } from '../../client/transport.ts';
import { type FlagForm, type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import { printable } from '../api/cell-text.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import type { Command, CommandContext } from '../command.ts';
import { replay } from './replay.ts';
import { tail } from './tail.ts';

interface Subcommand {
  readonly flags: readonly (readonly [string, FlagForm])[];
  run(transport: Transport, parsed: ParsedFlags, context: CommandContext): Promise<number>;
}

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  [
    'tail',
    {
      flags: [
        ['type', 'value'],
        ['count', 'value'],
        ['json', 'switch'],
      ],
      run: tail,
    },
  ],
  [
    'replay',
    {
      flags: [
        ['state', 'value'],
        ['since', 'value'],
        ['until', 'value'],
      ],
      run: replay,
    },
  ],
]);

const HELP = `
Usage: postern events SUBCOMMAND [FLAGS]

  tail                print events as they are queued for delivery, until interrupted: time, type, actor, object
  replay DELIVERY…    replay the named deliveries
  replay              replay all dead deliveries, or those that the flags below select

  --type              tail: only events of these types, separated by commas; "http_*" matches a prefix
  --count             tail: stop after this number of events
  --json              tail: print complete events, one per line
  --state             replay: pending, delivered, dead or cancelled (default dead)
  --since             replay: only deliveries queued at or after this time, such as 2026-11-01T00:00:00Z
  --until             replay: only deliveries queued before this time
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

Only events that a subscription with a destination requests are recorded. "postern api event-deliveries list" shows the state
of each delivery.

Exit codes: 0 success, 1 rejected by the API, 2 invalid usage, 3 server unreachable.
`;

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

/** Everyday operations with events; everything else is `postern api`. */
export const eventsCommand: Command = {
  help: HELP,
  run: async ([name = '', ...args], context) => {
    const subcommand = SUBCOMMANDS.get(name);
    if (subcommand === undefined) {
      throw usage(
        `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS.keys())} See postern events --help`,
      );
    }
    const parsed = parseFlags(args, new Map([...CONNECTION_FLAGS, ...subcommand.flags]));
    try {
      return await subcommand.run(await openTransport(parsed, context), parsed, context);
    } catch (error) {
      if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
      context.warn(`postern: ${printable(error.message)}`);
      return error instanceof PosternApiError ? EXIT_REFUSED : EXIT_UNREACHABLE;
    }
  },
};
