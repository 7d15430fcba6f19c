import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { SliceQueue, TimeSlice } from '../../kit/async/slices.ts';
import type { Change, StoredRecord } from '../store.ts';
import { RecordTable, SortedIds } from './record-table.ts';

const KINDS = ['edge', 'route', 'edge.oidc'];
const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

function record(kind: string, at: number, revision: number): StoredRecord {
  const parent = kind === 'edge' ? null : `e${at % 7}`;
  const id = kind === 'edge.oidc' ? `${parent}.oidc${at}` : `${kind[0]}${at}`;
  return { kind, id, parent, revision, doc: { at }, secrets: null };
}

function filled(): RecordTable {
  const table = new RecordTable();
  for (const kind of KINDS) for (let at = 0; at < 1_000; at += 1) table.put(record(kind, at, 1));
  return table;
}

function put(kind: string, at: number, revision: number): Change {
  return { op: 'put', record: record(kind, at, revision) };
}

function remove(kind: string, at: number, revision: number): Change {
  return { op: 'delete', key: { kind, id: record(kind, at, revision).id }, revision };
}

/** Everything that readers can see. */
function contentOf(table: RecordTable): unknown {
  return KINDS.map((kind) => [
    table.count(kind),
    table.page(kind, ALL),
    Array.from({ length: 7 }, (_, at) => table.pageOfParent(kind, `e${at}`, ALL)),
  ]);
}

const runs = fc.array(
  fc.record({
    op: fc.constantFrom(put, put, remove),
    kind: fc.constantFrom(...KINDS),
    from: fc.nat(1_500),
    count: fc.nat(900),
    revision: fc.nat(3),
  }),
  { minLength: 1, maxLength: 4 },
);

suite('prepared changes', () => {
  test('leave the same records as changes that are applied at once', async () => {
    await fc.assert(
      fc.asyncProperty(runs, async (given) => {
        const changes = given.flatMap(({ op, kind, from, count, revision }) =>
          Array.from({ length: count }, (_, at) => op(kind, from + at, revision)),
        );
        const [direct, prepared] = [filled(), filled()];
        const before = contentOf(prepared);
        const made = await prepared.prepare(changes, new TimeSlice(new SliceQueue()));
        assert.deepEqual(contentOf(prepared), before, 'nothing is visible yet');
        direct.applyAll(changes);
        prepared.applyAll(changes, made);
        assert.deepEqual(contentOf(prepared), contentOf(direct));
        // What was copied is independent, also in the lists of parents.
        for (const table of [direct, prepared]) table.applyAll([put('route', 3_000, 9), remove('route', 5, 9)]);
        assert.deepEqual(contentOf(prepared), contentOf(direct));
      }),
      { numRuns: 10 },
    );
  });

  test('become visible by replacing tables, not record by record', async () => {
    const table = filled();
    const changes = Array.from({ length: 1_000 }, (_, at) => put('edge', at, 2));
    const made = await table.prepare(changes, new TimeSlice(new SliceQueue()));
    assert.deepEqual([[...made.tables.keys()], made.rest], [['edge'], []]);
  });

  test('lose nothing that was applied while they were made', async () => {
    const table = filled();
    const changes = Array.from({ length: 1_000 }, (_, at) => put('edge', at, 2));
    const made = await table.prepare(changes, new TimeSlice(new SliceQueue()));
    table.applyAll([put('edge', 5_000, 3), remove('edge', 3, 3)]);
    table.applyAll(changes.slice(), made);
    table.applyAll(changes, made);
    assert.equal(table.get('edge', 'e5000')?.revision, 3);
    assert.equal(table.get('edge', 'e4')?.revision, 2);
  });

  test('are not used for a table that has replaced the one they were made from', async () => {
    const [table, successor] = [new RecordTable(), new RecordTable()];
    table.put(record('edge', 5_000, 1));
    successor.put(record('edge', 6_000, 1));
    const changes = Array.from({ length: 1_000 }, (_, at) => put('edge', at, 2));
    const made = await table.prepare(changes, new TimeSlice(new SliceQueue()));
    successor.applyAll(changes, made);
    assert.deepEqual([successor.get('edge', 'e6000')?.revision, successor.count('edge')], [1, 1_001]);
  });
});

const step = fc.record({
  do: fc.constantFrom('add', 'add', 'add', 'remove', 'page'),
  /** Many at once, so that chunks split and become empty. */
  from: fc.nat({ max: 6_000 }),
  count: fc.nat({ max: 3_000 }),
  stride: fc.constantFrom(1, 7, -1),
});

suite('sorted ids', () => {
  test('agree with a sorted list after any additions and removals', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8, size: 'max' }), (steps) => {
        const ids = new SortedIds();
        const model = new Set<string>();
        for (const { do: what, from, count, stride } of steps) {
          for (let at = 0; at < count && what !== 'page'; at += 1) {
            const id = idOf(Math.abs(from + at * stride));
            if (what === 'add') model.add(id);
            else model.delete(id);
            if (what === 'add') ids.add(id);
            else ids.remove(id);
          }
          const sorted = [...model].toSorted().reverse();
          const before = idOf(from);
          assert.equal(ids.size, model.size);
          assert.deepEqual(ids.descending(null, count), sorted.slice(0, count));
          assert.deepEqual(ids.descending(before, 100), sorted.filter((id) => id < before).slice(0, 100));
        }
      }),
      { numRuns: 30 },
    );
  });
});

function idOf(number: number): string {
  return `tn_${String(number).padStart(6, '0')}`;
}
