import type { Transport } from '../../client/transport.ts';
import type { ParsedFlags } from '../../lib/flags.ts';
import { openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../api/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { outputFlag } from '../output/output-format.ts';
import { WATCH_FLAGS, watch, watchInterval } from '../output/watch.ts';
import { parseCommand } from '../parse-command.ts';
import { CONNECTION, textFlag, UTC } from '../shared-flags.ts';
import { listChanges } from './list-changes.ts';
import { showChange } from './show-change.ts';
import { verifyChanges } from './verify-changes.ts';

type Run = (transport: Transport, parsed: ParsedFlags, context: CommandContext) => Promise<number>;

const RUNS = { list: listChanges, show: showChange, verify: verifyChanges } satisfies Record<string, Run>;

const SYNTAX: CommandSyntax = {
  name: 'changes',
  about: 'Shows the history of the configuration. Without a subcommand it lists changes, newest first.',
  subcommands: [
    {
      name: 'list',
      isDefault: true,
      about: 'list changes, newest first',
      flags: [
        textFlag('since', 'TIME', 'Only changes since then: 1d, 12h, 30m or a time such as 2026-11-01T00:00:00Z.'),
        textFlag('until', 'TIME', 'Only changes before then, in the same forms.'),
        textFlag(
          'object',
          'NAME',
          'Only changes of the resource with this id or name, or of its modules: app.example.com.',
          { completedBy: ['https_edge', 'ip_policy', 'user_account'] },
        ),
        textFlag('author', 'NAME', 'Only changes by the API key with this id or description.', {
          completedBy: ['api_key'],
        }),
        textFlag('limit', 'NUMBER', 'Number of changes.', { default: '50' }),
        outputFlag(),
        UTC,
        ...WATCH_FLAGS,
      ],
    },
    {
      name: 'show',
      operands: 'REVISION',
      about: 'print who made a change, and what it changed, field by field; secrets are masked',
      flags: [outputFlag(['table', 'json', 'yaml'])],
    },
    {
      name: 'verify',
      about: 'check that nobody changed or removed an entry of the history in the database',
      flags: [outputFlag(['table', 'json'])],
    },
  ],
  groups: [CONNECTION],
  notes: ['"postern undo REVISION" undoes a change; "postern confirm" keeps one that waits for its confirmation.'],
  examples: [
    'postern changes --since 1d --object app.example.com',
    'postern changes show 42',
    'postern changes verify',
  ],
  exitCodes: { ...API_EXIT_CODES, 1: 'rejected by the API, or verify: the history is broken' },
};

/** The history of the configuration. */
export const changesCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const runOne = RUNS[parsed.subcommand as keyof typeof RUNS];
    const everyMs = watchInterval(parsed);
    const run = (to: CommandContext): Promise<number> =>
      runWithApi(to, async () => runOne(await openTransport(parsed, to), parsed, to));
    return everyMs === null ? run(context) : watch(context, { everyMs }, run);
  },
};
