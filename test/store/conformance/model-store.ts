import type {
  CommitRefusal,
  IdempotencyRecord,
  RecordKey,
  RecordPut,
  UniqueKey,
  WriteSet,
} from '../../../src/store/store.ts';

export interface ModelRecord extends Omit<RecordPut, 'isAcyclic'> {
  readonly revision: number;
}

export type ModelResult =
  | { readonly ok: true; readonly revision: number; readonly changes: readonly string[] }
  | ({ readonly ok: false } & CommitRefusal);

type Records = ReadonlyMap<string, ModelRecord>;

/**
 * The store's rules on plain maps: applies to a copy, then checks whether the copy is consistent. Slow, and short
 * enough to trust.
 */
export class ModelStore {
  records: Records = new Map();
  revision = 0;
  events = 0;
  readonly #idempotency = new Map<string, IdempotencyRecord>();

  commit(writeSet: WriteSet): ModelResult {
    const { expect = [], deletes = [], touches = [], events = [], keepAtLeastOne = [], idempotency } = writeSet;
    const puts = [...new Map((writeSet.puts ?? []).map((put) => [name(put), put])).values()];
    const before = this.records;
    const used = idempotency && this.#idempotency.get(idempotency.scope);
    if (used) return { ok: false, reason: 'idempotency_used', existing: used };
    for (const { kind, id, revision } of expect) {
      const actual = before.get(name({ kind, id }))?.revision ?? null;
      if (actual !== (revision === 'absent' ? null : revision)) return conflict({ kind, id }, actual);
    }
    const missing =
      deletes.find((key) => !before.has(name(key))) ??
      touches.find((key) => !before.has(name(key)) && !puts.some((put) => name(put) === name(key)));
    if (missing) return conflict(missing, null);
    if (puts.length + deletes.length + touches.length + events.length === 0 && !idempotency) {
      return { ok: true, revision: this.revision, changes: [] };
    }

    const revision = this.revision + 1;
    const gone = below(before, deletes);
    const after = new Map([...before].filter(([key]) => !gone.has(key)));
    for (const put of puts) after.set(name(put), { ...put, revision });
    const touched = touches.filter((key) => !puts.some((put) => name(put) === name(key)));
    for (const key of touched) {
      const record = after.get(name(key));
      if (record === undefined) return conflict(key, null);
      after.set(name(key), { ...record, revision });
    }
    const refusal = findFault(puts, before, after, keepAtLeastOne);
    if (refusal !== null) return { ok: false, ...refusal };

    this.records = after;
    this.revision = revision;
    this.events += events.length;
    if (idempotency) this.#idempotency.set(idempotency.scope, idempotency);
    const changes = [
      ...[...gone].filter((key) => !after.has(key)).map((key) => `delete ${key}`),
      ...[...puts, ...touched].map((key) => `put ${name(key)}`),
    ];
    return { ok: true, revision, changes: [...new Set(changes)].sort() };
  }
}

export function name({ kind, id }: RecordKey): string {
  return `${kind}/${id}`;
}

function conflict({ kind, id }: RecordKey, actual: number | null): ModelResult {
  return { ok: false, reason: 'conflict', key: { kind, id }, actual };
}

function below(records: Records, roots: readonly RecordKey[]): Set<string> {
  const gone = new Set(roots.map(name));
  for (let size = -1; size !== gone.size; ) {
    size = gone.size;
    const ids = [...gone].map((key) => records.get(key)?.id);
    for (const [key, { parent }] of records) if (parent !== null && ids.includes(parent)) gone.add(key);
  }
  return gone;
}

function findFault(
  puts: readonly RecordPut[],
  before: Records,
  after: Records,
  keepAtLeastOne: readonly string[],
): CommitRefusal | null {
  const ids = new Set([...after.values()].map(({ id }) => id));
  for (const { parent } of puts) if (parent !== null && !ids.has(parent)) return { reason: 'parent_missing', parent };
  return (
    findTakenKey(puts, after) ??
    findDanglingReference(puts, after) ??
    findReferrers(after) ??
    findCircle(puts, after) ??
    findEmptiedScope(keepAtLeastOne, before, after)
  );
}

function findTakenKey(puts: readonly RecordPut[], after: Records): CommitRefusal | null {
  const same = (one: UniqueKey) => (other: UniqueKey) => one.scope === other.scope && one.key === other.key;
  const putNames = puts.map(name);
  const others = [...after].filter(([key]) => !putNames.includes(key)).map(([, record]) => record);
  // Claims within the write set are compared first, then those against stored records.
  for (const rivals of [(at: number) => puts.slice(0, at), () => others]) {
    for (const [at, put] of puts.entries()) {
      for (const { scope, key } of put.uniqueKeys) {
        const rival = rivals(at).find(({ uniqueKeys }) => uniqueKeys.some(same({ scope, key })));
        if (rival) {
          return { reason: 'unique_key_taken', uniqueKey: { scope, key }, by: { kind: rival.kind, id: rival.id } };
        }
      }
    }
  }
  return null;
}

function findDanglingReference(puts: readonly RecordPut[], after: Records): CommitRefusal | null {
  const reference = puts.flatMap(({ references }) => references).find(({ to }) => !after.has(name(to)));
  return reference === undefined ? null : { reason: 'reference_missing', reference };
}

function findReferrers(after: Records): CommitRefusal | null {
  const dangling = [...after.values()].flatMap(({ kind, id, references }) =>
    references
      .map(({ field, to }, position) => ({ kind, id, field, to, position }))
      .filter(({ to }) => !after.has(name(to))),
  );
  const order = (entry: (typeof dangling)[number]) =>
    [name(entry.to), name(entry), String(entry.position).padStart(3, '0')].join(' ');
  const sorted = dangling.toSorted((one, other) => (order(one) < order(other) ? -1 : 1)).slice(0, 10);
  const key = sorted[0]?.to;
  if (key === undefined) return null;
  const by = sorted.filter(({ to }) => name(to) === name(key)).map(({ kind, id, field }) => ({ kind, id, field }));
  return { reason: 'still_referenced', key, by };
}

function findCircle(puts: readonly RecordPut[], after: Records): CommitRefusal | null {
  for (const { kind, id, isAcyclic } of puts) {
    const reached = new Set<string>();
    const visit = (key: string): void => {
      for (const { to } of after.get(key)?.references ?? []) {
        if (reached.has(name(to))) continue;
        reached.add(name(to));
        visit(name(to));
      }
    };
    visit(name({ kind, id }));
    if (isAcyclic && reached.has(name({ kind, id }))) return { reason: 'cycle', key: { kind, id } };
  }
  return null;
}

function findEmptiedScope(scopes: readonly string[], before: Records, after: Records): CommitRefusal | null {
  const holds = (records: Records, scope: string) =>
    [...records.values()].some(({ uniqueKeys }) => uniqueKeys.some((key) => key.scope === scope));
  const scope = scopes.find((candidate) => holds(before, candidate) && !holds(after, candidate));
  return scope === undefined ? null : { reason: 'last_one', scope };
}
