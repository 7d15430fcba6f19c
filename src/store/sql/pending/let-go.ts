import { PENDING_CHANGE } from '../../pending-change.ts';
import type { RecordKey } from '../../store.ts';
import type { Judged } from '../records/judged.ts';
import { keyOf } from '../records/record-rows.ts';
import { keyText } from '../sealing/sealed-write-set.ts';
import { executeForTuples, type Program, type Row, statement, text } from '../statements/statement.ts';

/** The hold of a pending change on a record that a revocation took out of it: its revert leaves the record alone. */
const RELEASED = 'released';

/**
 * Whether this reference, which a deleted record has, keeps nobody from deleting it. An earlier document that refers to the
 * record does: without it the revert could not restore that document.
 */
export function isLetGo(row: Row, revoked: ReadonlySet<string>): boolean {
  if (row['from_kind'] !== PENDING_CHANGE.kind) return false;
  const target = keyText({ kind: text(row, 'to_kind'), id: text(row, 'to_id') });
  return row['field'] === RELEASED || (revoked.has(target) && row['field'] !== 'needed');
}

/**
 * Takes revoked records out of the pending change. One that the change created and that only lost rights stays in it: its
 * revert takes the rest.
 */
export function* letGo({ puts, gone, revoked }: Judged): Program<void> {
  if (revoked.size === 0) return;
  const keysIn = (map: ReadonlyMap<string, RecordKey>): string[][] =>
    [...map].filter(([key]) => revoked.has(key)).map(([, { kind, id }]) => [kind, id]);
  const release = `UPDATE record_references SET field = '${RELEASED}'
    WHERE (to_kind, to_id) IN (VALUES %s) AND from_kind = '${PENDING_CHANGE.kind}'`;
  yield* executeForTuples(release, keysIn(gone));
  yield* executeForTuples(`${release} AND field = 'changed'`, keysIn(puts));
}

export function* readReleased(): Program<RecordKey[]> {
  const rows = yield statement(
    'SELECT to_kind AS kind, to_id AS id FROM record_references WHERE from_kind = ? AND from_id = ? AND field = ?',
    [PENDING_CHANGE.kind, PENDING_CHANGE.id, RELEASED],
  );
  return rows.map(keyOf);
}
