import type { RecordKey } from '../../store.ts';
import { keyOf, readRecords } from '../records/record-rows.ts';
import { keyText, type SealedRecord } from '../sealing/sealed-write-set.ts';
import { integer, type Program, queryOne, type Row, type Statement, statement, text } from '../statements/statement.ts';

export function* readRevision(): Program<number> {
  return yield* readCounter('revision');
}

export function* readCounter(name: string): Program<number> {
  const row = yield* queryOne('SELECT value FROM counter WHERE name = ?', [name]);
  if (row === null) throw new Error(`the store has no counter ${name}`);
  return integer(row, 'value');
}

/** Two counters and the rows of a statement, in one round trip. */
export function* withCounters(one: string, other: string, rest: Statement): Program<[number, number, ...Row[]]> {
  const counters = statement('SELECT name, value FROM counter WHERE name IN (?, ?)', [one, other]);
  const [first, second, ...rows] = yield { ...counters, also: [rest] };
  if (first === undefined || second === undefined) throw new Error(`the store has lost the counter ${one} or ${other}`);
  const [a, b] = text(first, 'name') === one ? [first, second] : [second, first];
  return [integer(a, 'value'), integer(b, 'value'), ...rows];
}

export type ChangeRow =
  | { readonly op: 'put'; readonly record: SealedRecord }
  | { readonly op: 'delete'; readonly key: RecordKey; readonly revision: number };

export type ChangeRows =
  | { readonly isComplete: true; readonly revision: number; readonly changes: readonly ChangeRow[] }
  | { readonly isComplete: false };

/**
 * Each record that changed after `revision`, once, in its current state, in the order of its last change. A follower
 * ahead of the store (a backup was restored) must read everything again, like one that is behind the feed.
 */
export function* readChangesSince(revision: number): Program<ChangeRows> {
  // Together: a database may be far away.
  const [current, floor, ...rows] = yield* withCounters(
    'revision',
    'changes_floor',
    statement('SELECT kind, id, op, revision FROM changes WHERE revision > ? ORDER BY revision, position', [revision]),
  );
  if (revision < floor || revision > current) return { isComplete: false };
  if (revision === current) return { isComplete: true, revision, changes: [] };
  const last = new Map<string, ChangeRow | 'put'>();
  for (const row of rows) {
    const key = keyOf(row);
    // A Map keeps the position of the first insertion; the last one is needed.
    last.delete(keyText(key));
    last.set(keyText(key), row['op'] === 'put' ? 'put' : { op: 'delete', key, revision: integer(row, 'revision') });
  }
  const put = rows.map(keyOf).filter((key) => last.get(keyText(key)) === 'put');
  for (const record of yield* readRecords([...new Map(put.map((key) => [keyText(key), key])).values()])) {
    last.set(keyText(record), { op: 'put', record });
  }
  return { isComplete: true, revision: current, changes: [...last.values()].filter((change) => change !== 'put') };
}

/** Deletes changes that are more than `keepRevisions` old. */
export function* pruneChanges(keepRevisions: number): Program<void> {
  const floor = (yield* readRevision()) - keepRevisions;
  if (floor <= (yield* readCounter('changes_floor'))) return;
  yield statement('DELETE FROM changes WHERE revision <= ?', [floor]);
  yield statement("UPDATE counter SET value = ? WHERE name = 'changes_floor'", [floor]);
}
