import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { CommandContext } from '../command.ts';
import { printable } from './cell-text.ts';

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

const NOTHING_LISTENS =
  '. Nothing listens there: start the server, or name another address with --api-url or POSTERN_CLI_API_URL';

function isRefused(error: Error): boolean {
  return error instanceof PosternConnectionError && error.failure === 'network' && /ECONNREFUSED/.test(error.message);
}

/** Reports an error of the API or of the connection on one line. */
export async function runWithApi(
  context: CommandContext,
  run: () => Promise<number>,
  exitUnreachable = EXIT_UNREACHABLE,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    context.warn(`postern: ${printable(error.message)}${isRefused(error) ? NOTHING_LISTENS : ''}`);
    return error instanceof PosternApiError ? EXIT_REFUSED : exitUnreachable;
  }
}
