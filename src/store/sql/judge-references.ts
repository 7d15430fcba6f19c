import type { RecordKey } from '../store.ts';
import type { Judged } from './judged.ts';
import { cascadeSql, keyParams, readRevisions } from './record-rows.ts';
import { keyText, type Refused, type SealedPut } from './sealed-write-set.ts';
import { type Program, queryForTuples, statement, text, tupleList } from './statement.ts';

export function* judgeReferences({ puts, gone }: Judged): Program<Refused | null> {
  const references = [...puts.values()].flatMap((put) => put.references);
  const asked = new Map(references.filter(({ to }) => !puts.has(keyText(to))).map(({ to }) => [keyText(to), to]));
  const found = yield* readRevisions([...asked.values()]);
  const missing = references.find(({ to }) => {
    const target = keyText(to);
    return !puts.has(target) && (gone.has(target) || !found.has(target));
  });
  return missing === undefined ? null : { ok: false, reason: 'reference_missing', reference: missing };
}

/** A record that goes, or is put anew in the same write-set, no longer refers to what it did. */
export function* judgeReferrers(deletes: readonly RecordKey[], { puts }: Judged): Program<Refused | null> {
  if (deletes.length === 0) return null;
  const putKeys = [...puts.values()];
  const putTuples = tupleList(putKeys.map(() => ['', '']));
  const notPut = (kind: string, id: string) =>
    putKeys.length === 0 ? '' : `AND (${kind}, ${id}) NOT IN (VALUES ${putTuples})`;
  const rows = yield statement(
    `${cascadeSql(deletes)}
    SELECT ref.from_kind, ref.from_id, ref.field, ref.to_kind, ref.to_id
    FROM gone JOIN record_references ref ON ref.to_kind = gone.kind AND ref.to_id = gone.id
    WHERE NOT EXISTS (SELECT 1 FROM gone g WHERE g.kind = ref.from_kind AND g.id = ref.from_id)
      ${notPut('ref.from_kind', 'ref.from_id')} ${notPut('ref.to_kind', 'ref.to_id')}
    ORDER BY ref.to_kind, ref.to_id, ref.from_kind, ref.from_id, ref.position
    LIMIT 10`,
    [...keyParams(deletes), ...keyParams(putKeys), ...keyParams(putKeys)],
  );
  const first = rows[0];
  if (first === undefined) return null;
  const key = { kind: text(first, 'to_kind'), id: text(first, 'to_id') };
  const by = rows
    .filter((row) => row['to_kind'] === key.kind && row['to_id'] === key.id)
    .map((row) => ({ kind: text(row, 'from_kind'), id: text(row, 'from_id'), field: text(row, 'field') }));
  return { ok: false, reason: 'still_referenced', key, by };
}

export function* judgeCycles({ puts }: Judged): Program<Refused | null> {
  for (const { kind, id, isAcyclic } of puts.values()) {
    if (isAcyclic && (yield* reachesItself({ kind, id }, puts)))
      return { ok: false, reason: 'cycle', key: { kind, id } };
  }
  return null;
}

/** Follows references breadth first over the state after the write: a put's own references, else the stored ones. */
function* reachesItself(start: RecordKey, puts: ReadonlyMap<string, SealedPut>): Program<boolean> {
  const seen = new Set<string>();
  let frontier: readonly RecordKey[] = [start];
  while (frontier.length > 0) {
    const targets = yield* readTargets(frontier, puts);
    if (targets.has(keyText(start))) return true;
    frontier = [...targets].filter(([target]) => !seen.has(target)).map(([, key]) => key);
    for (const key of frontier) seen.add(keyText(key));
  }
  return false;
}

function* readTargets(
  from: readonly RecordKey[],
  puts: ReadonlyMap<string, SealedPut>,
): Program<Map<string, RecordKey>> {
  const targets = new Map<string, RecordKey>();
  const stored: RecordKey[] = [];
  for (const key of from) {
    const put = puts.get(keyText(key));
    if (put === undefined) stored.push(key);
    else for (const { to } of put.references) targets.set(keyText(to), to);
  }
  const rows = yield* queryForTuples(
    'SELECT to_kind, to_id FROM record_references WHERE (from_kind, from_id) IN (VALUES %s)',
    stored.map(({ kind, id }) => [kind, id]),
  );
  for (const row of rows) {
    const key = { kind: text(row, 'to_kind'), id: text(row, 'to_id') };
    targets.set(keyText(key), key);
  }
  return targets;
}
