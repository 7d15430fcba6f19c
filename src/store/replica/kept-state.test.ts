import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Change, StoredRecord } from '../store.ts';
import { KeptState } from './kept-state.ts';
import { RecordTable } from './record-table.ts';

const ALL = { beforeId: null, limit: Number.MAX_SAFE_INTEGER };

function record(id: string, revision: number, parent: string | null = null): StoredRecord {
  return { kind: 'k', id, revision, parent, doc: { revision }, secrets: null };
}

function put(id: string, revision: number, parent: string | null = null): Change {
  return { op: 'put', record: record(id, revision, parent) };
}

function remove(id: string, revision: number): Change {
  return { op: 'delete', key: { kind: 'k', id }, revision };
}

function follow(known: readonly StoredRecord[], from: number) {
  const table = new RecordTable();
  for (const each of known) table.put(each);
  const kept = new KeptState(
    from,
    () => table,
    () => {},
  );
  const show = (changes: readonly Change[], isWhole: boolean): void => {
    kept.see(changes, isWhole);
    table.applyAll(changes);
  };
  return { kept, show };
}

suite('the state of a revision', () => {
  test('has each version of a record that one group commit wrote several times', () => {
    const { kept, show } = follow([record('a', 3)], 5);
    show([put('a', 6), put('a', 7), remove('a', 8), put('a', 9)], true);
    assert.deepEqual(kept.missing(9), []);
    const revisions = [5, 6, 7, 8, 9].map((revision) => kept.at(revision).get('k', 'a')?.revision);
    assert.deepEqual(revisions, [3, 6, 7, undefined, 9]);
  });

  test('has the children of that revision, whatever was added and deleted later', () => {
    const { kept, show } = follow([record('a', 1, 'p'), record('b', 2, 'p')], 5);
    show([put('c', 6, 'p'), remove('a', 7), put('d', 8, 'p')], true);
    const children = (revision: number) =>
      kept
        .at(revision)
        .pageOfParent('k', 'p', ALL)
        .map(({ id }) => id);
    assert.deepEqual(children(5), ['b', 'a']);
    assert.deepEqual(children(6), ['c', 'b', 'a']);
    assert.deepEqual(children(8), ['d', 'c', 'b']);
  });

  test('takes the versions that the feed has skipped from the history', () => {
    const { kept, show } = follow([record('a', 3)], 5);
    show([put('b', 7)], true);
    show([put('a', 8)], false);
    assert.deepEqual(kept.missing(7), [6]);
    kept.learn([{ revision: 6, changes: [put('a', 6)] }]);
    assert.deepEqual(kept.missing(7), []);
    assert.equal(kept.at(7).get('k', 'a')?.revision, 6);
    assert.equal(kept.at(5).get('k', 'a')?.revision, 3);
  });

  test('is unknown after all records were read again, and after too many commits of others', () => {
    const { kept } = follow([], 5);
    assert.equal(kept.missing(500), null);
    kept.lose();
    assert.equal(kept.missing(6), null);
  });
});
