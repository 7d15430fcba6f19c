import type { SealedWriteSet } from './sealed-write-set.ts';

/** The lists of a write set that grow with the number of writes. */
export const LISTS = ['expect', 'puts', 'deletes', 'touches', 'events'] as const;

export type ListsOfWriteSet = Pick<SealedWriteSet, (typeof LISTS)[number]>;

/** Handled in one turn up to this many writes, which takes a few milliseconds. */
const MAX_SMALL = 250;

/** Whether handling it in one turn would delay others. */
export function isLargeWriteSet(writeSet: { readonly [Name in keyof ListsOfWriteSet]?: readonly unknown[] }): boolean {
  return LISTS.some((name) => (writeSet[name]?.length ?? 0) > MAX_SMALL);
}
