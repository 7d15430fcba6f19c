import { PosternApiError } from '../../client/postern-api-error.ts';
import { printable } from '../api/cell-text.ts';
import type { PreparedPlan } from './prepare-plan.ts';

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
