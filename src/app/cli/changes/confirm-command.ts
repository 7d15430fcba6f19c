import type { Transport } from '../../../client/transport.ts';
import { usage } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { CONNECTION, MESSAGE } from '../shared-flags.ts';
import { type PendingChange, revisionArgument } from './change.ts';

const SYNTAX: CommandSyntax = {
  name: 'confirm',
  usage: ['[REVISION]'],
  hasOperands: true,
  about:
    'Confirms a change that was applied for a limited time. The server reverts a change that nobody confirms in time. Without a revision, the command confirms the change that waits.',
  flags: [MESSAGE],
  groups: [CONNECTION],
  notes: ['"postern changes" shows the change that waits, and until when.'],
  examples: ['postern confirm'],
  exitCodes: { ...API_EXIT_CODES, 0: 'confirmed', 1: 'rejected by the API, or no change waits' },
};

const EXIT_NOTHING = 1;

/** Keeps the change that waits for its confirmation. */
export const confirmCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const { flags, positionals } = parsed;
    if (positionals.length > 1) throw usage('postern confirm takes one revision, or none for the change that waits');
    const given = positionals.length === 0 ? null : revisionArgument(positionals, 'postern confirm');
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      return confirm(transport, given, flags.get('message'), context);
    });
  },
};

async function confirm(
  transport: Transport,
  given: number | null,
  message: string | undefined,
  context: CommandContext,
): Promise<number> {
  const revision = given ?? (await pendingRevision(transport));
  if (revision === null) {
    context.warn('postern: no change waits for a confirmation: postern changes shows what happened');
    return EXIT_NOTHING;
  }
  const body = message === undefined ? {} : { message };
  await transport.send({ method: 'POST', path: `/changes/${revision}/confirm`, body });
  context.print(`revision ${revision} is confirmed and stays`);
  return 0;
}

async function pendingRevision(transport: Transport): Promise<number | null> {
  const { text } = await transport.send({ method: 'GET', path: '/changes?limit=1' });
  const { pending } = JSON.parse(text) as { readonly pending?: PendingChange | null };
  return pending?.revision ?? null;
}
