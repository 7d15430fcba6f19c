import type { Check } from './check.ts';
import type { Facts } from './facts.ts';
import { type Finding, findingMaker } from './finding.ts';

const RECOVERS = 'Traffic continues meanwhile, and changes work again without a restart';
const ADVICE: Readonly<Record<string, string>> = {
  ERR_POSTERN_STORE_FULL: `free space on the disk of the database, or enlarge it. ${RECOVERS}`,
  ERR_POSTERN_STORE_READ_ONLY: `mount the disk read-write, and give the user of the server write access; on PostgreSQL, promote the standby, or start the primary. ${RECOVERS}`,
  ERR_POSTERN_STORE_UNAVAILABLE: `do what the message says, and check that the database runs and that this server reaches it. ${RECOVERS}`,
};
/** Undamaged pages still take changes. */
const STATES: Readonly<Record<string, string>> = {
  ERR_POSTERN_STORE_CORRUPT:
    'the server may not start again with its store, and changes that it stores now may be lost',
};
const OTHER_ADVICE = 'do what the message says; the log of the server has more';

const found = findingMaker('store');

/** Whether the server that answers can store changes, and can read what is stored. */
export const store = {
  name: 'store',
  nouns: ['nodes'],
  *run({ storeProblem, unreadable }: Pick<Facts, 'storeProblem' | 'unreadable'>): Generator<Finding> {
    for (const { kind, id } of unreadable) {
      yield found.problem(
        `${id} cannot be read: the stored record (${kind}) is not what the API writes, so it is treated as absent`,
        'delete it and create it again, or restore a backup from before',
      );
    }
    if (storeProblem === null) return;
    const { code, message } = storeProblem;
    yield found.problem(`${STATES[code] ?? 'the server stores no changes'}: ${message}`, storeAdvice(code));
  },
} satisfies Check;

/** What to do about a store with this error. */
export function storeAdvice(code: string): string {
  return ADVICE[code] ?? OTHER_ADVICE;
}
