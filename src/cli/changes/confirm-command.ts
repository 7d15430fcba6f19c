import type { Transport } from '../../client/transport.ts';
import { parseFlags, usage } from '../../lib/flags.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import type { Command, CommandContext } from '../command.ts';
import { type PendingChange, revisionArgument } from './change.ts';
import { runWithApi } from './run-with-api.ts';

const HELP = `
Usage: postern confirm [REVISION] [FLAGS]

Keeps a change that was applied with a time for its confirmation: without this, the server reverts it when the time is
over. Without a revision: the change that waits.

  --message           message for the history
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

"postern changes" shows the change that waits, and until when.

Exit codes: 0 confirmed, 1 rejected by the API, or no change waits, 2 invalid usage, 3 server unreachable.
`;

const EXIT_NOTHING = 1;

/** Keeps the change that waits for its confirmation. */
export const confirmCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const { flags, positionals } = parseFlags(args, new Map([...CONNECTION_FLAGS, ['message', 'value']] as const));
    if (positionals.length > 1) throw usage('postern confirm takes one revision, or none for the change that waits');
    const given = positionals.length === 0 ? null : revisionArgument(positionals, 'postern confirm');
    return runWithApi(context, async () => {
      const transport = await openTransport({ flags, positionals }, context);
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
