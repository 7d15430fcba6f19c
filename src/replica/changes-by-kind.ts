import type { TimeSlice } from '../lib/async/slice-lane.ts';
import type { Change } from '../store/store.ts';

export function kindOf(change: Change): string {
  return change.op === 'put' ? change.record.kind : change.key.kind;
}

/** In slices. The changes of each kind keep their order. */
export async function changesByKind(
  changes: readonly Change[],
  slice: TimeSlice,
): Promise<ReadonlyMap<string, readonly Change[]>> {
  const found = new Map<string, Change[]>();
  for (const change of changes) {
    const kind = kindOf(change);
    const ofKind = found.get(kind);
    if (ofKind === undefined) found.set(kind, [change]);
    else ofKind.push(change);
    if (slice.isOver) await slice.next();
  }
  return found;
}
