import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type Change,
  type ChangesSince,
  type CommitFollower,
  type CommitListener,
  revisionOf,
  type Store,
  type StoredRecord,
} from '../store.ts';
import { Replica, ReplicaCopy } from './replica.ts';

const KIND = 'key';

/** A store with a list of changes, at most one per record and revision. */
class FakeStore {
  changes: Change[] = [];
  reads = 0;
  listener: CommitListener = () => {};
  follower: CommitFollower = {};
  readonly store = {
    onCommitted: (listener: CommitListener, follower: CommitFollower) => {
      this.listener = listener;
      this.follower = follower;
      return () => {};
    },
    onReset: () => () => {},
    readAll: async (onBatch: (records: readonly StoredRecord[]) => void) => {
      this.reads += 1;
      const last = new Map(this.changes.map((change) => [idOf(change), change]));
      onBatch([...last.values()].flatMap((change) => (change.op === 'put' ? [change.record] : [])));
      return { revision: this.revision };
    },
    changesSince: async (revision: number): Promise<ChangesSince> => {
      const news = this.changes.filter((change) => revisionOf(change) > revision);
      const last = new Map(news.map((change) => [idOf(change), change]));
      return { isComplete: true, revision: this.revision, changes: [...last.values()] };
    },
  } as unknown as Store;

  get revision(): number {
    return Math.max(0, ...this.changes.map(revisionOf));
  }
}

function put(id: string, revision: number, scopes = 'all'): Change {
  return { op: 'put', record: { kind: KIND, id, parent: null, revision, doc: { scopes }, secrets: null } };
}

function del(id: string, revision: number): Change {
  return { op: 'delete', key: { kind: KIND, id }, revision };
}

function idOf(change: Change): string {
  return change.op === 'put' ? change.record.id : change.key.id;
}

async function opened(...changes: readonly Change[]) {
  const fake = new FakeStore();
  fake.changes = [...changes];
  const replica = await Replica.open(fake.store);
  const seen: string[] = [];
  replica.onChange((news) => seen.push(...news.map((change) => `${change.op} ${idOf(change)} ${revisionOf(change)}`)));
  const hear = (after: number, change: Change): boolean =>
    replica.hear({ after, revision: revisionOf(change), changes: [change] });
  const has = (id: string): string => (replica.get(KIND, id)?.doc['scopes'] as string | undefined) ?? 'absent';
  return { fake, replica, seen, hear, has };
}

suite('what a linked node tells', () => {
  test('is shown at once, and once', async () => {
    const { fake, replica, seen, hear, has } = await opened(put('a', 1));
    assert.equal(hear(1, put('b', 2)), true);
    assert.deepEqual([has('b'), replica.revision, replica.heardRevision], ['all', 1, 2]);
    fake.changes.push(put('b', 2));
    await replica.refresh();
    assert.deepEqual([replica.revision, seen], [2, ['put b 2']]);
  });

  test('restores nothing when it arrives late or twice', async () => {
    const { fake, replica, hear, has } = await opened(put('a', 1), put('b', 2));
    hear(2, del('a', 3));
    hear(3, put('b', 4, 'few'));
    for (const change of [put('a', 1), put('b', 2), del('a', 3)]) hear(0, change);
    assert.deepEqual([has('a'), has('b')], ['absent', 'few']);
    fake.changes.push(del('a', 3), put('b', 4, 'few'));
    await replica.refresh();
    hear(1, put('a', 2));
    assert.deepEqual([has('a'), has('b'), fake.reads], ['absent', 'few', 1]);
  });

  test('ends and narrows records although something before it is missing, and adds none', async () => {
    const { fake, replica, hear, has } = await opened(put('a', 1), put('b', 2));
    assert.equal(hear(6, del('a', 7)), false);
    assert.equal(hear(7, put('b', 8, 'few')), false);
    assert.equal(hear(8, put('c', 9)), false);
    assert.deepEqual([has('a'), has('b'), has('c'), replica.heardRevision], ['absent', 'few', 'absent', 2]);
    // What an older read returns is older.
    fake.changes.push(put('a', 5, 'more'), put('b', 6, 'more'));
    await replica.refresh();
    assert.deepEqual([has('a'), has('b'), replica.revision], ['absent', 'few', 6]);
    fake.changes.push(del('a', 7), put('b', 8, 'few'), put('c', 9));
    await replica.refresh();
    assert.deepEqual([has('a'), has('b'), has('c')], ['absent', 'few', 'all']);
  });

  test('is undone when the store turns out to have lost it', async () => {
    const { fake, replica, hear, has } = await opened(put('a', 1), put('b', 2));
    hear(2, del('a', 3));
    hear(3, put('x', 4));
    // A failover to a server that lacks both; another node has written since.
    fake.changes.push(put('b', 3, 'few'), put('c', 4));
    await replica.refresh();
    while (fake.reads < 2) await turn();
    await replica.refresh();
    assert.deepEqual([has('a'), has('b'), has('c'), has('x'), fake.reads], ['all', 'few', 'all', 'absent', 2]);
  });

  test('joins what this process commits itself', async () => {
    const { fake, replica, hear, has } = await opened(put('a', 1));
    hear(1, put('b', 2));
    fake.changes.push(put('b', 2), put('c', 3));
    fake.listener([put('c', 3)]);
    assert.deepEqual([has('b'), has('c'), replica.heardRevision], ['all', 'all', 3]);
    await replica.refresh();
    assert.equal(replica.revision, 3);
  });
});

suite('many changes of one commit', () => {
  const many = (revision: number): Change[] => Array.from({ length: 2_000 }, (_, at) => put(`k${at}`, revision));

  test('become visible together, after they were prepared in several turns', async () => {
    const { fake, replica, seen, has } = await opened(put('a', 1));
    const changes = many(2);
    await fake.follower.prepare?.(changes);
    assert.deepEqual([has('k5'), seen.length, replica.count(KIND)], ['absent', 0, 1]);
    fake.listener(changes);
    assert.deepEqual([has('k5'), seen.length, replica.count(KIND), replica.revision], ['all', 2_000, 2_001, 2]);
  });

  test('lose nothing to a change that another node told while they were prepared', async () => {
    const { fake, replica, hear, has } = await opened(put('a', 1));
    const changes = many(2);
    await fake.follower.prepare?.(changes);
    hear(1, put('b', 3));
    fake.listener(changes);
    assert.deepEqual([has('a'), has('b'), has('k5'), replica.count(KIND)], ['all', 'all', 'all', 2_002]);
  });
});

suite('listeners of the replica', () => {
  test('get only changes of the kinds that they name, in their order', async () => {
    const { fake, replica } = await opened();
    const heard: string[][] = [[], [], []];
    const of = (at: number) => (changes: readonly Change[]) => void heard[at]?.push(changes.map(idOf).join());
    replica.onChange(of(0), [KIND]);
    replica.onChange(of(1), ['other', KIND]);
    replica.onChange(of(2), ['third']);
    const other: Change = { op: 'delete', key: { kind: 'other', id: 'o' }, revision: 1 };
    const unknown: Change = { op: 'delete', key: { kind: 'x', id: 'x' }, revision: 1 };
    fake.listener([put('a', 1), other, unknown, put('b', 1)]);
    assert.deepEqual(heard, [['a,b'], ['a,o,b'], []]);
  });
});

function record(id: string, revision: number): StoredRecord {
  return { kind: 'k', id, parent: null, revision, doc: {}, secrets: null };
}

function putAt(id: string, revision: number): Change {
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
  copy.show([deleted('a', 5), putAt('b', 6)]);
  copy.fill([record('a', 1), record('b', 2), record('c', 3)]);
  assert.deepEqual(revisions(copy), [
    ['b', 6],
    ['c', 3],
  ]);
});

test('follows the replica to an earlier state', () => {
  const copy = copyOf([record('a', 9), record('b', 9)]);
  copy.filled();
  copy.show([putAt('a', 4), deleted('b', 4)]);
  assert.deepEqual(revisions(copy), [['a', 4]]);
});

test('tells listeners of the kinds that they follow, after it shows them', () => {
  const copy = copyOf([record('a', 1)]);
  copy.filled();
  const told: unknown[] = [];
  const stop = copy.onChange((changes) => told.push([changes.length, revisions(copy)]), ['k']);
  copy.onChange(() => told.push('another kind'), ['other']);
  copy.show([putAt('a', 2)]);
  stop();
  copy.show([putAt('a', 3)]);
  assert.deepEqual(told, [[1, [['a', 2]]]]);
});
