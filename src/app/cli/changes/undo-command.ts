import { PosternApiError } from '../../../client/call-errors.ts';
import type { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { CONNECTION, isAgreed, MESSAGE, switchFlag, YES } from '../shared-flags.ts';
import { documentLines, readChange, revisionArgument } from './change.ts';

const SYNTAX: CommandSyntax = {
  name: 'undo',
  usage: ['REVISION'],
  hasOperands: true,
  about:
    'Restores every document that a change touched, as it was before the change. That is a new change, which can be undone too. Undoing a creation deletes; undoing a deletion brings the same id back. Deleted API keys, credentials, tokens and guest links do not come back. A change that waits for its confirmation is reverted before its time is over.',
  flags: [
    YES,
    switchFlag('force', 'Restore documents that were changed again later, too: the later changes are lost.'),
    MESSAGE,
  ],
  groups: [CONNECTION],
  notes: ['"postern changes" lists the revisions; a response of the API has its own in Postern-Revision.'],
  examples: ['postern undo 42'],
  exitCodes: { ...API_EXIT_CODES, 0: 'undone', 1: 'rejected by the API or answered with no' },
};

const EXIT_DECLINED = 1;

interface Undone {
  readonly revision: number;
  readonly skipped: readonly { readonly kind: string; readonly id: string }[];
}

/** Takes a change back. */
export const undoCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const revision = revisionArgument(parsed.positionals, 'postern undo');
    if (!isOn(parsed, 'yes') && context.ask === undefined) {
      throw usage('postern undo asks before it changes anything, and there is no terminal: add --yes');
    }
    return runWithApi(context, async () => undo(await openTransport(parsed, context), revision, parsed, context));
  },
};

async function undo(
  transport: Transport,
  revision: number,
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<number> {
  const { change } = await readChange(transport, revision);
  const isWaiting = typeof change.confirm_by === 'string';
  if (!isWaiting && typeof change.cannot_undo === 'string') {
    context.warn(`postern: ${printable(change.cannot_undo)}`);
    return EXIT_DECLINED;
  }
  context.print(`Undoing revision ${revision} makes this change:`);
  for (const document of change.objects) {
    for (const line of documentLines(document, 'undo')) context.print(line);
  }
  if (!(await isAgreed(parsed, context, 'Undo it?'))) {
    context.warn('postern: nothing was changed');
    return EXIT_DECLINED;
  }
  const { revision: undone, skipped } = await sendUndo(transport, { revision, isWaiting }, parsed, context);
  for (const { kind, id } of skipped) {
    context.warn(`postern: warning: ${printable(kind)} ${printable(id)} does not come back: create a new one`);
  }
  context.print(`revision ${revision} is undone by revision ${undone}`);
  return 0;
}

/** A change that waits for its confirmation can only be reverted: that ends the wait, too. */
async function sendUndo(
  transport: Transport,
  { revision, isWaiting }: { readonly revision: number; readonly isWaiting: boolean },
  parsed: ParsedFlags,
  context: CommandContext,
): Promise<Undone> {
  const message = parsed.flags.get('message');
  if (isWaiting) {
    const body = message === undefined ? {} : { message };
    const { text } = await transport.send({ method: 'POST', path: `/changes/${revision}/revert`, body });
    return JSON.parse(text) as Undone;
  }
  const body = { ...(isOn(parsed, 'force') && { force: true }), ...(message !== undefined && { message }) };
  try {
    const { text } = await transport.send({ method: 'POST', path: `/changes/${revision}/undo`, body });
    return JSON.parse(text) as Undone;
  } catch (error) {
    if (error instanceof PosternApiError && error.code === 'ERR_POSTERN_CHANGED_SINCE') {
      context.warn('postern: the same with --force loses the later change; postern changes --object ID shows it');
    }
    throw error;
  }
}
