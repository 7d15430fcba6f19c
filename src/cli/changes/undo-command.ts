import { PosternApiError } from '../../client/postern-api-error.ts';
import type { Transport } from '../../client/transport.ts';
import { type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import type { Command, CommandContext } from '../command.ts';
import { readChange, revisionArgument } from './change.ts';
import { documentLines } from './document-lines.ts';
import { runWithApi } from './run-with-api.ts';

const HELP = `
Usage: postern undo REVISION [FLAGS]

Restores every document that a change touched, as it was before the change. That is a new change, which can be undone too.
Undoing a creation deletes; undoing a deletion brings the same id back. Deleted API keys, credentials, tokens and guest
links do not come back. A change that waits for its confirmation is reverted before its time is over.

  --yes               do not ask; required when there is no terminal
  --force             restore documents that were changed again later, too: the later changes are lost
  --message           message for the history
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

"postern changes" lists the revisions; a response of the API has its own in Postern-Revision.

Exit codes: 0 undone, 1 rejected by the API or answered with no, 2 invalid usage, 3 server unreachable.
`;

const EXIT_DECLINED = 1;

interface Undone {
  readonly revision: number;
  readonly skipped: readonly { readonly kind: string; readonly id: string }[];
}

/** Takes a change back. */
export const undoCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const parsed = parseFlags(
      args,
      new Map([...CONNECTION_FLAGS, ['yes', 'switch'], ['force', 'switch'], ['message', 'value']] as const),
    );
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
  context.print(`Undoing revision ${revision} makes this change:`);
  for (const document of change.objects) {
    for (const line of documentLines(document, 'undo')) context.print(line);
  }
  if (!isOn(parsed, 'yes') && !/^y(es)?$/i.test(((await context.ask?.('Undo it? [y/N] ')) ?? '').trim())) {
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

function isOn({ flags }: ParsedFlags, name: string): boolean {
  return flags.get(name) === 'true';
}
