import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { CommandContext } from '../command.ts';
import { printable } from './cell-text.ts';
import { connectionText, strangerAdvice } from './connection-text.ts';

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
    context.warn(`postern: ${printable(textOf(error))}`);
    return error instanceof PosternApiError ? EXIT_REFUSED : exitUnreachable;
  }
}

function textOf(error: PosternApiError | PosternConnectionError): string {
  if (error instanceof PosternConnectionError) return connectionText(error);
  const advice = strangerAdvice(error);
  return advice === null ? error.message : `${error.message}. ${advice}`;
}
