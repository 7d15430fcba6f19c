import { OWNERSHIP_KIND, ownershipId } from '../../store/ownership-records.ts';
import type { PendingChange } from '../../store/pending-change.ts';
import type { PlacedPut, PlacedWriteSet } from '../record-puts.ts';

/** The restored objects get the owners back that the change took from them: the history has none. */
export function withOwners(writeSet: PlacedWriteSet, pending: PendingChange | null, revision: number): PlacedWriteSet {
  if (pending === null || pending.revision !== revision) return writeSet;
  const { puts = [] } = writeSet;
  const restored = new Set(puts.map(({ id }) => id));
  const owners = pending.owners.filter(({ id }) => restored.has(id));
  return { ...writeSet, puts: [...puts, ...owners.map(({ id, owner, name }) => ownerPut(id, owner, name))] };
}

function ownerPut(id: string, owner: string, name: string): PlacedPut {
  return {
    kind: OWNERSHIP_KIND,
    id: ownershipId(id),
    parent: id,
    doc: { owner, name },
    secrets: null,
    uniqueKeys: [],
    references: [],
  };
}
