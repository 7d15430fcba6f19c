import type { JsonObject } from '../../src/kit/json.ts';
import type { ApiConnection } from '../support/api-connection.ts';
import type { Ledger } from './ledger.ts';
import { documentsIn, idIn, kindIn } from './rendered-documents.ts';
import type { KeyedCreate } from './writer.ts';

const MOST_ANSWERED = 8;
const MOST_UNANSWERED = 40;

/**
 * Repeats creates with their Idempotency-Key after the crash. An applied one must return the same resource and create
 * nothing; another is created now, and a second repeat returns the same.
 */
export async function repeatKeyedCreates(
  api: ApiConnection,
  creates: readonly KeyedCreate[],
  ledger: Ledger,
): Promise<{ readonly count: number; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  const answered = creates.filter(({ id }) => id !== null).slice(-MOST_ANSWERED);
  const unanswered = creates.filter(({ id }) => id === null).slice(0, MOST_UNANSWERED);
  for (const create of [...answered, ...unanswered]) {
    const problem = await repeat(api, create, ledger);
    if (problem !== null) problems.push(`${create.key}: ${problem}`);
  }
  return { count: answered.length + unanswered.length, problems };
}

async function repeat(api: ApiConnection, { write, key, id }: KeyedCreate, ledger: Ledger): Promise<string | null> {
  const kind = write.changes[0]?.kind ?? '';
  const existing = [...ledger.documents].find(
    ([each, state]) => kindIn(each) === kind && state['description'] === write.marker,
  );
  const send = () => api.send(write.method, write.path, write.body, { 'idempotency-key': key });
  const first = await send();
  if (existing !== undefined) {
    const isSame = first.status === 201 && first.body.id === idIn(existing[0]);
    return isSame && first.headers['idempotent-replayed'] === 'true'
      ? null
      : `was applied as ${idIn(existing[0])}, and its repeat gave ${first.status} ${JSON.stringify(first.body)}`;
  }
  if (id !== null) {
    // Deleted since. So may be its edge: then the path is gone.
    return first.status === 409 || first.status === 404 ? null : `made ${id}, deleted since, gave ${first.status}`;
  }
  if (first.status !== 201) {
    return write.refusals.includes(first.body?.error_code) || first.status === 404 ? null : `gave ${first.status}`;
  }
  for (const [each, state] of documentsIn(kind, first.body as JsonObject)) ledger.acknowledge(each, state);
  const second = await send();
  return second.status === 201 && second.body.id === first.body.id && second.headers['idempotent-replayed'] === 'true'
    ? null
    : `the repeat of the repeat gave ${second.status} ${JSON.stringify(second.body)}`;
}
