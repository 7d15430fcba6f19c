import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';
import type { PreparedPlan } from './prepare-plan.ts';

const EXIT_FAILED = 1;

/** Reports an error of the API or of the connection on one line; code 3 means a conflict here, and nothing else. */
export async function runWithServer(context: CommandContext, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    context.warn(`postern: ${printable(error.message)}`);
    return EXIT_FAILED;
  }
}

/** Which object a rejected operation is about: its number says nothing to a reader of the file. */
export function operationHint(error: unknown, changeset: PreparedPlan['changeset']): string | null {
  if (!(error instanceof PosternApiError)) return null;
  const operations = changeset['operations'] as readonly {
    readonly method: string;
    readonly path: string;
    readonly body?: object;
  }[];
  const operation = operations[Number(error.details['operation'] ?? -1)];
  if (operation === undefined) return null;
  const { description, hostports, match, domain, name } = (operation.body ?? {}) as Readonly<Record<string, unknown>>;
  const named = [description, hostports, match, domain, name].find((value) => value !== undefined && value !== '');
  return printable(`${operation.method} ${operation.path}${named === undefined ? '' : ` ${JSON.stringify(named)}`}`);
}
