import type { Transport } from '../../client/transport.ts';
import type { ParsedFlags } from '../../lib/flags.ts';
import { openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../api/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { parseCommand } from '../parse-command.ts';
import { CONNECTION, switchFlag, textFlag } from '../shared-flags.ts';
import { replay } from './replay.ts';
import { tail } from './tail.ts';

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { tail, replay } satisfies Record<string, Run>;

const SYNTAX: CommandSyntax = {
  name: 'events',
  about:
    'Watches and replays events. Only events that a subscription with a destination requests are recorded. "postern api event-deliveries list" shows the state of each delivery.',
  subcommands: [
    {
      name: 'tail',
      about: 'print events as they are queued for delivery, until interrupted: time, type, actor, object',
      flags: [
        textFlag('type', 'TYPES', 'Only events of these types, separated by commas; "http_*" matches a prefix.'),
        textFlag('count', 'NUMBER', 'Stop after this number of events.'),
        switchFlag('json', 'Print complete events, one per line.'),
      ],
    },
    {
      name: 'replay',
      operands: '[DELIVERY…]',
      about: 'replay the named deliveries; without one, all dead deliveries, or those that the flags select',
      flags: [
        textFlag('state', 'STATE', 'Only deliveries in this state.', {
          choices: ['pending', 'delivered', 'dead', 'cancelled'],
          hint: 'pending|delivered|dead|cancelled',
          default: 'dead',
        }),
        textFlag(
          'since',
          'TIME',
          'Only deliveries queued since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z.',
        ),
        textFlag('until', 'TIME', 'Only deliveries queued before then, in the same forms.'),
      ],
    },
  ],
  groups: [CONNECTION],
  examples: ["postern events tail --type 'https_edge_*'", 'postern events replay --state dead --since 1d'],
  exitCodes: API_EXIT_CODES,
};

/** Everyday operations with events; everything else is `postern api`. */
export const eventsCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const run = RUNS[parsed.subcommand as keyof typeof RUNS];
    return runWithApi(context, async () => run(await openTransport(parsed, context), parsed, context));
  },
};
