import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { CommandContext } from '../command.ts';
import { printable } from './cell-text.ts';

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

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
    context.warn(`postern: ${printable(error.message)}`);
    return error instanceof PosternApiError ? EXIT_REFUSED : exitUnreachable;
  }
}
