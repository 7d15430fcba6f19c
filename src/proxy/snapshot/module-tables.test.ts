import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { TimeSlice } from '../../kit/async/slices.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { ChildTable } from '../../modules/contract/prepare.ts';
import { RecordTable } from '../../store/replica/record-table.ts';
import type { Change, StoredRecord } from '../../store/store.ts';
import { ChildTables, configDigest, moduleConfig, withSecrets } from './module-tables.ts';

test('a configuration holds its secrets at their places, and leaves the record alone', () => {
  const record = recordWith(
    { client_id: 'app', nested: { kept: 1 } },
    { '/client_secret': '"hush"', '/nested/key': '"deep"' },
  );
  assert.deepEqual(withSecrets(record), { client_id: 'app', client_secret: 'hush', nested: { kept: 1, key: 'deep' } });
  assert.deepEqual(record.doc, { client_id: 'app', nested: { kept: 1 } });
  assert.equal(withSecrets(record), withSecrets(record));
});

test('a record without secrets is its own configuration', () => {
  const record = recordWith({ client_id: 'app' }, null);
  assert.equal(withSecrets(record), record.doc);
});

test('a module stored without a field has its default, and is read once for all edges', () => {
  const config = Type.Object({ client_id: Type.String(), added_later: Type.Boolean({ default: true }) });
  const record = recordWith({ client_id: 'app' }, { '/client_secret': '"hush"' });
  const read = moduleConfig({ config }, record);
  assert.deepEqual(read, { client_id: 'app', client_secret: 'hush', added_later: true });
  assert.equal(moduleConfig({ config }, record), read);
  const complete = recordWith({ client_id: 'app', added_later: false }, null);
  assert.equal(moduleConfig({ config }, complete), complete.doc);
});

test('digests are equal for equal configurations, whatever the order of their fields, and tell secrets apart', () => {
  const one = configDigest(recordWith({ a: 1, b: 2 }, { '/s': '"x"' }));
  assert.equal(configDigest(recordWith({ b: 2, a: 1 }, { '/s': '"x"' })), one);
  assert.notEqual(configDigest(recordWith({ a: 1, b: 2 }, { '/s': '"y"' })), one);
  assert.notEqual(configDigest(recordWith({ a: 1, b: 2 }, null)), one);
});

function recordWith(doc: StoredRecord['doc'], secrets: StoredRecord['secrets']): StoredRecord {
  return { kind: 'kind', id: 'id', parent: null, revision: 1, doc, secrets };
}

const PARENTS = ['policy_1', 'policy_2'];
let changes = 0;
let broken: string | null = null;

/** Documents by id, as one text. */
const texts: ChildTable<readonly string[]> = {
  kind: 'rule',
  parentKind: 'policy',
  empty: [],
  changed: (value, before, after) => {
    changes += 1;
    if (after?.id === broken) throw new Error('a bug');
    const others = value.filter((text) => text !== `${before?.id}=${before?.doc['text'] as string}`);
    assert.equal(others.length, value.length - (before === null ? 0 : 1));
    return after === null ? others : [...others, `${after.id}=${after.doc['text'] as string}`];
  },
};
const modules = [{ name: 'one', childTables: [texts] } as unknown as Module];
/** One record in each slice. */
const slices = () =>
  new TimeSlice({ sliceMs: 0, nowMs: () => 0, pause: () => new Promise((resolve) => setImmediate(resolve)) });

class World {
  readonly records = new RecordTable();
  readonly tables = new ChildTables(modules, this.records);
  #revision = 0;

  put(id: string, parent: string, text: string): Change {
    this.#revision += 1;
    const kind = PARENTS.includes(id) ? 'policy' : 'rule';
    const record = { kind, id, parent: kind === 'policy' ? null : parent, doc: { text }, secrets: null };
    return { op: 'put', record: { ...record, revision: this.#revision } };
  }

  remove(id: string): Change {
    this.#revision += 1;
    return { op: 'delete', key: { kind: 'rule', id }, revision: this.#revision };
  }

  show(...shown: readonly Change[]): readonly Change[] {
    this.records.applyAll(shown);
    return this.tables.follow(shown);
  }

  /** What a table of all records has. */
  expected(parent: string): readonly string[] {
    const page = this.records.pageOfParent('rule', parent, { beforeId: null, limit: 10_000 });
    return page.map(({ id, doc }) => `${id}=${doc['text'] as string}`);
  }

  check(): void {
    for (const parent of PARENTS)
      assert.deepEqual(this.tables.read(texts, parent).toSorted(), this.expected(parent).toSorted());
  }
}

function world(): World {
  const made = new World();
  made.show(...PARENTS.map((id) => made.put(id, '', '')));
  return made;
}

const step = fc.record({ id: fc.nat(20), text: fc.option(fc.constantFrom('a', 'b')) });

suite('tables of the children of records', () => {
  test('follow any changes, few at once and many in slices, and never show another state than the records', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 12 }),
        fc.nat(12),
        async (rounds, many) => {
          const made = world();
          for (const [at, steps] of rounds.entries()) {
            made.show(
              ...steps.map(({ id, text }) =>
                text === null ? made.remove(`rule_${id}`) : made.put(`rule_${id}`, PARENTS[id % 2] as string, text),
              ),
            );
            if (at === many)
              made.show(...Array.from({ length: 300 }, (_, n) => made.put(`more_${n}`, PARENTS[n % 2] as string, 'x')));
            const isRead = at % 3 === 0;
            if (isRead) made.check();
            else if (made.tables.isBehind) await made.tables.catchUp(slices());
          }
          made.check();
        },
      ),
      { numRuns: 60 },
    );
  });

  test('tell edges of the record that theirs belong to, once, and of a deleted one too', () => {
    const made = world();
    const keys = (told: readonly Change[]): readonly string[] =>
      told.map((change) => (change.op === 'put' ? change.record.id : change.key.id)).sort();
    const added = Array.from({ length: 50 }, (_, n) => made.put(`rule_${n}`, 'policy_1', 'a'));
    assert.deepEqual(keys(made.show(...added, made.put('rule_x', 'policy_2', 'a'))), PARENTS);
    assert.deepEqual(keys(made.show(made.remove('rule_7'))), ['policy_1']);
    assert.deepEqual(keys(made.show(made.remove('unknown'))), []);
  });

  test('are changed by difference: one step for one record among a thousand', () => {
    const made = world();
    made.show(...Array.from({ length: 1_000 }, (_, n) => made.put(`rule_${n}`, 'policy_1', 'a')));
    assert.ok(made.tables.isBehind);
    made.check();
    const before = changes;
    made.show(made.put('rule_5', 'policy_1', 'b'));
    made.show(made.remove('rule_6'));
    assert.equal(changes - before, 2);
    made.check();
  });

  test('that a bug keeps from being made fail for their own record alone', () => {
    const made = world();
    broken = 'rule_2';
    made.show(
      made.put('rule_1', 'policy_1', 'a'),
      made.put('rule_2', 'policy_1', 'a'),
      made.put('rule_3', 'policy_2', 'a'),
    );
    broken = null;
    assert.throws(() => made.tables.read(texts, 'policy_1'), /a bug/);
    assert.deepEqual(made.tables.read(texts, 'policy_2'), ['rule_3=a']);
    made.show(made.remove('rule_1'));
    assert.throws(() => made.tables.read(texts, 'policy_1'), /a bug/);
  });

  test('of all records that exist are made in slices at the start, with what changes meanwhile', async () => {
    const made = world();
    const first = Array.from({ length: 500 }, (_, n) => made.put(`rule_${n}`, PARENTS[n % 2] as string, 'a'));
    made.records.applyAll(first);
    made.tables.followAll();
    const caughtUp = made.tables.catchUp(slices());
    await new Promise(setImmediate);
    made.show(made.remove('rule_499'), made.put('rule_0', 'policy_1', 'b'));
    await caughtUp;
    assert.equal(made.tables.isBehind, false);
    made.check();
  });
});
