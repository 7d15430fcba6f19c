import { PENDING_CHANGE } from '../../pending-change.ts';
import type { RecordKey, UniqueKey } from '../../store.ts';
import { keyText, type Refused } from '../sealing/sealed-write-set.ts';
import { type Program, queryForTuples, type Row, statement, text } from '../statements/statement.ts';
import type { Judged } from './judged.ts';
import { keyOf } from './record-rows.ts';

const KEYS_PER_PAGE = 500;

export function* judgeUniqueKeys(judged: Judged): Program<Refused | null> {
  const claims = new Map<string, RecordKey>();
  const wanted: UniqueKey[] = [];
  for (const { kind, id, uniqueKeys } of judged.puts.values()) {
    for (const uniqueKey of uniqueKeys) {
      const claim = claims.get(claimText(uniqueKey));
      if (claim !== undefined && (claim.kind !== kind || claim.id !== id)) return takenBy(uniqueKey, claim);
      claims.set(claimText(uniqueKey), { kind, id });
      wanted.push(uniqueKey);
    }
  }
  const rows = yield* queryForTuples(
    'SELECT scope, key, kind, id FROM unique_keys WHERE (scope, key) IN (VALUES %s)',
    wanted.map(({ scope, key }) => [scope, key]),
  );
  const held = new Map(
    rows
      .filter((row) => isKept(row, judged))
      .map((row) => [claimText({ scope: text(row, 'scope'), key: text(row, 'key') }), keyOf(row)]),
  );
  for (const uniqueKey of wanted) {
    const owner = held.get(claimText(uniqueKey));
    if (owner !== undefined) return takenBy(uniqueKey, owner);
  }
  return null;
}

function claimText({ scope, key }: UniqueKey): string {
  return `${scope}\0${key}`;
}

function takenBy({ scope, key }: UniqueKey, by: RecordKey): Refused {
  return { ok: false, reason: 'unique_key_taken', uniqueKey: { scope, key }, by: { kind: by.kind, id: by.id } };
}

/** Rejects removing the last key of a scope; a scope that was empty before may stay so. */
export function* judgeLastOnes(scopes: readonly string[], judged: Judged): Program<Refused | null> {
  const claimed = new Set([...judged.puts.values()].flatMap(({ uniqueKeys }) => uniqueKeys.map(({ scope }) => scope)));
  for (const scope of scopes) {
    if (!claimed.has(scope) && (yield* isEmptied(scope, judged))) return { ok: false, reason: 'last_one', scope };
  }
  return null;
}

function* isEmptied(scope: string, judged: Judged): Program<boolean> {
  let rows = yield statement('SELECT key, kind, id FROM unique_keys WHERE scope = ? ORDER BY key LIMIT ?', [
    scope,
    KEYS_PER_PAGE,
  ]);
  let last = rows.at(-1);
  if (last === undefined) return false;
  while (last !== undefined) {
    // A pending change only holds the keys that it may need again.
    if (rows.some((row) => isKept(row, judged) && row['kind'] !== PENDING_CHANGE.kind)) return false;
    rows = yield statement('SELECT key, kind, id FROM unique_keys WHERE scope = ? AND key > ? ORDER BY key LIMIT ?', [
      scope,
      text(last, 'key'),
      KEYS_PER_PAGE,
    ]);
    last = rows.at(-1);
  }
  return true;
}

/** An owner loses its keys when it is deleted, and when it is put: the put lists those it still claims. */
function isKept(row: Row, { gone, puts }: Judged): boolean {
  const owner = keyText(keyOf(row));
  return !gone.has(owner) && !puts.has(owner);
}
