import type { Change } from './store.ts';

/** The revision that made the change. */
export function revisionOf(change: Change): number {
  return change.op === 'put' ? change.record.revision : change.revision;
}
