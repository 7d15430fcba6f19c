import type { Check } from './check.ts';
import type { Facts } from './facts.ts';
import { type Finding, findingMaker } from './finding.ts';

const RECOVERS = 'Traffic goes on meanwhile, and changes work again without a restart';
const ADVICE: Readonly<Record<string, string>> = {
  ERR_POSTERN_STORE_FULL: `free space on the disk of the database, or enlarge it. ${RECOVERS}`,
  ERR_POSTERN_STORE_READ_ONLY: `mount the disk read-write, and give the user of the server write access. ${RECOVERS}`,
  ERR_POSTERN_STORE_UNAVAILABLE: `check that the database runs and that this server reaches it. ${RECOVERS}`,
};
const OTHER_ADVICE = 'do what the message says; the log of the server has more';

const found = findingMaker('store');

/** Whether the server that answers can store changes. */
export const store = {
  name: 'store',
  nouns: ['nodes'],
  *run({ storeProblem }: Pick<Facts, 'storeProblem'>): Generator<Finding> {
    if (storeProblem !== null)
      yield found.problem(`the server stores no changes: ${storeProblem.message}`, storeAdvice(storeProblem.code));
  },
} satisfies Check;

/** What to do about a store with this error. */
export function storeAdvice(code: string): string {
  return ADVICE[code] ?? OTHER_ADVICE;
}
