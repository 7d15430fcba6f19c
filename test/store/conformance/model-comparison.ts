import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { CommitResult, RecordKey, RecordPut, Store, WriteSet } from '../../../src/store/store.ts';
import { type ModelRecord, type ModelResult, ModelStore, name } from './model-store.ts';
import { everything, type OpenStore, put } from './store-under-test.ts';

const RUNS = process.env['POSTERN_TEST_LONG'] ? 1_000 : 12;

/** A step as fast-check generates it: small numbers that collide often, converted by `toWriteSet`. */
const key = fc.record({ kind: fc.constantFrom('edge', 'route'), n: fc.nat(3) });
/** Mostly an existing record; otherwise nearly all write sets would be rejected by their first rule. */
const target = fc.record({ key, pick: fc.nat(20), isAny: fc.nat(9).map((n) => n === 0) });
const wants = fc.constantFrom('current', 'current', 'current', 'current', 'absent', 'wrong');
const step = fc.record({
  expect: fc.array(fc.record({ key, wants }), { maxLength: 1 }),
  puts: fc.array(
    fc.record({
      key,
      parent: fc.option(target, { freq: 2 }),
      uniqueKeys: fc.array(fc.record({ scope: fc.nat(1), key: fc.nat(2) }), { maxLength: 2 }),
      references: fc.array(target, { maxLength: 2 }),
      isAcyclic: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  deletes: oftenNone(fc.array(target, { maxLength: 2 })),
  touches: oftenNone(fc.array(target, { maxLength: 1 })),
  keepAtLeastOne: fc.array(fc.nat(1), { maxLength: 1 }),
  idempotency: fc.option(fc.nat(5), { freq: 4 }),
  hasEvent: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type StepTarget = Step['deletes'][number];
type StepKey = StepTarget['key'];

function oftenNone<Item>(list: fc.Arbitrary<Item[]>): fc.Arbitrary<Item[]> {
  return fc.oneof({ weight: 2, arbitrary: fc.constant<Item[]>([]) }, { weight: 1, arbitrary: list });
}

/** Random write sets against the real store and against the model: same results, same records in the end. */
export function modelComparison(openStore: OpenStore): void {
  suite('against a model', () => {
    test(`${RUNS} random histories end the same`, async (t) => {
      const { store } = await openStore(t);
      const outcomes = new Map<string, number>();
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
          run += 1;
          await compare(store, `h${run}`, steps, outcomes);
        }),
        { numRuns: RUNS },
      );
      t.diagnostic(JSON.stringify(Object.fromEntries(outcomes)));
    });
  });
}

/** All histories share one store, each with its own names: opening one each would take most of the time. */
async function compare(
  store: Store,
  history: string,
  steps: readonly Step[],
  outcomes: Map<string, number>,
): Promise<void> {
  const model = new ModelStore();
  model.revision = await store.currentRevision();
  model.events = await store.events.count();
  const start = model.revision;
  // Records to refer to, to delete and to use as parents, from the first step on.
  const seeds = [0, 1, 2, 3].map((n) => put('edge', `${history}-edge${n}`));
  assert.deepEqual(summary(await store.commit({ puts: seeds })), model.commit({ puts: seeds }));
  for (const [at, each] of steps.entries()) {
    const writeSet = toWriteSet(each, model, history, at);
    const expected = model.commit(writeSet);
    assert.deepEqual(summary(await store.commit(writeSet)), expected);
    const outcome = expected.ok ? 'ok' : expected.reason;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  const { records, revision, events } = await everything(store);
  assert.deepEqual([revision, events], [model.revision, model.events]);
  const stored = records.filter(({ id }) => id.startsWith(`${history}-`));
  const wanted = [...model.records.values()].map(({ kind, id, parent, doc, secrets, revision: at }: ModelRecord) => ({
    kind,
    id,
    parent,
    revision: at,
    doc,
    secrets,
  }));
  const byName = (one: RecordKey, other: RecordKey) => (name(one) < name(other) ? -1 : 1);
  assert.deepEqual(stored.toSorted(byName), wanted.toSorted(byName));
  const feed = await store.changesSince(start);
  assert.ok(feed.isComplete);
  const fed = feed.changes.flatMap((change) => (change.op === 'put' ? [change.record] : []));
  assert.deepEqual(fed.toSorted(byName), wanted.toSorted(byName));
}

function toWriteSet(each: Step, model: ModelStore, history: string, at: number): WriteSet {
  const keyOf = ({ kind, n }: StepKey): RecordKey => ({ kind, id: `${history}-${kind}${n}` });
  const existing = [...model.records.values()];
  const targetOf = ({ key: any, pick, isAny }: StepTarget): RecordKey => {
    const found = existing[pick % Math.max(existing.length, 1)];
    return isAny || found === undefined ? keyOf(any) : { kind: found.kind, id: found.id };
  };
  const scopeOf = (n: number) => `${history}-scope${n}`;
  return {
    expect: each.expect.map(({ key: expected, wants }) => {
      const current = model.records.get(name(keyOf(expected)))?.revision ?? 'absent';
      return {
        ...keyOf(expected),
        revision: wants === 'current' ? current : wants === 'absent' ? 'absent' : 1_000_000,
      };
    }),
    puts: each.puts.map(
      (made): RecordPut => ({
        ...keyOf(made.key),
        parent: made.parent === null ? null : targetOf(made.parent).id,
        doc: { at },
        secrets: at % 2 === 0 ? null : { s: `secret ${at}` },
        uniqueKeys: made.uniqueKeys.map((uniqueKey) => ({ scope: scopeOf(uniqueKey.scope), key: `k${uniqueKey.key}` })),
        references: made.references.map((to) => ({ field: 'ref_id', to: targetOf(to) })),
        isAcyclic: made.isAcyclic,
      }),
    ),
    deletes: each.deletes.map(targetOf),
    touches: each.touches.map(targetOf),
    keepAtLeastOne: each.keepAtLeastOne.map(scopeOf),
    events: each.hasEvent ? [{ id: `ev-${history}-${at}`, type: 'x', createdAtMs: 1, payload: {} }] : [],
    ...(each.idempotency !== null && {
      idempotency: { scope: `${history}-i${each.idempotency}`, bodyHash: 'b', kind: 'edge', id: 'x', createdAtMs: at },
    }),
  };
}

function summary(result: CommitResult): ModelResult {
  if (!result.ok) return result;
  const changes = result.changes.map(
    (change) => `${change.op} ${name(change.op === 'put' ? change.record : change.key)}`,
  );
  return { ok: true, revision: result.revision, changes: changes.sort() };
}
