import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, StoredRecord } from '../store.ts';
import { ReplicaCopy } from './followed-replica.ts';

function record(id: string, revision: number): StoredRecord {
  return { kind: 'k', id, parent: null, revision, doc: {}, secrets: null };
}

function put(id: string, revision: number): Change {
  return { op: 'put', record: record(id, revision) };
}

function deleted(id: string, revision: number): Change {
  return { op: 'delete', key: { kind: 'k', id }, revision };
}

function revisions(copy: ReplicaCopy): readonly (readonly [string, number])[] {
  return Array.from(copy.all('k'), ({ id, revision }) => [id, revision] as const);
}

function copyOf(records: readonly StoredRecord[]): ReplicaCopy {
  const copy = new ReplicaCopy(() => Promise.resolve());
  copy.fill(records);
  return copy;
}

test('a record that was deleted while the copy is filled does not come back', () => {
  const copy = copyOf([]);
  copy.show([deleted('a', 5), put('b', 6)]);
  copy.fill([record('a', 1), record('b', 2), record('c', 3)]);
  assert.deepEqual(revisions(copy), [
    ['b', 6],
    ['c', 3],
  ]);
});

test('follows the replica to an earlier state', () => {
  const copy = copyOf([record('a', 9), record('b', 9)]);
  copy.filled();
  copy.show([put('a', 4), deleted('b', 4)]);
  assert.deepEqual(revisions(copy), [['a', 4]]);
});

test('tells listeners of the kinds that they follow, after it shows them', () => {
  const copy = copyOf([record('a', 1)]);
  copy.filled();
  const told: unknown[] = [];
  const stop = copy.onChange((changes) => told.push([changes.length, revisions(copy)]), ['k']);
  copy.onChange(() => told.push('another kind'), ['other']);
  copy.show([put('a', 2)]);
  stop();
  copy.show([put('a', 3)]);
  assert.deepEqual(told, [[1, [['a', 2]]]]);
});
