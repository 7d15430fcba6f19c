import { findingTable } from '../../../kit/findings.ts';
import type { Facts } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

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

/** What to do about a store with this error. */
export function storeAdvice(code: string): string {
  return ADVICE[code] ?? OTHER_ADVICE;
}

const { kinds, found } = findingTable('store', {
  record_unreadable: {
    level: 'problem',
    text: ({ id, kind }: Facts['unreadable'][number]) =>
      `${id} cannot be read: the stored record (${kind}) is not what the API writes, so it is treated as absent`,
    advice: 'delete it and create it again, or restore a backup from before',
  },
  store_failing: {
    level: 'problem',
    text: ({ code, message }: NonNullable<Facts['storeProblem']>) =>
      `${STATES[code] ?? 'the server stores no changes'}: ${message}`,
    advice: ({ code }: { readonly code: string }) => storeAdvice(code),
  },
});

/** Whether the server that answers can store changes, and can read what is stored. */
export const storeCheck: Check = {
  name: 'store',
  nouns: ['nodes'],
  kinds,
  *run({ storeProblem, unreadable }) {
    for (const record of unreadable) yield found('record_unreadable', record);
    if (storeProblem !== null) yield found('store_failing', storeProblem);
  },
};

export const store: Subject = { checks: [storeCheck] };
