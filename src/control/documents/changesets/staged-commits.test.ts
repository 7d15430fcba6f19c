import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { Catalog } from '../catalog.ts';
import { StagedCommits } from './staged-commits.ts';

const stored: StoredRecord = { kind: 'thing', id: 'a', parent: null, revision: 3, doc: {}, secrets: null };
const base: RecordReader = {
  get: (_, id) => (id === stored.id ? stored : undefined),
  page: () => [],
  pageOfParent: () => [],
};
const catalog = { childrenOf: () => [], compiled: new Map() } as unknown as Catalog;
const put = { ...stored, uniqueKeys: [], references: [] };

suite('staged commits', () => {
  test('expect of the store what the first write of each record expected', async () => {
    const commits = new StagedCommits(base, catalog, 9);
    await commits.commit({ expect: [{ kind: 'thing', id: 'a', revision: 3 }], puts: [put] });
    await commits.commit({ expect: [{ kind: 'thing', id: 'a', revision: 9 }], puts: [put] });
    await commits.commit({ expect: [{ kind: 'thing', id: 'b', revision: 'absent' }], puts: [{ ...put, id: 'b' }] });
    assert.deepEqual(commits.folded().expect, [
      { kind: 'thing', id: 'a', revision: 3 },
      { kind: 'thing', id: 'b', revision: 'absent' },
    ]);
  });

  test('expect it of a deleted record too', async () => {
    const commits = new StagedCommits(base, catalog, 9);
    await commits.commit({
      expect: [{ kind: 'thing', id: 'a', revision: 3 }],
      deletes: [{ kind: 'thing', id: 'a' }],
    });
    assert.deepEqual(commits.folded().expect, [{ kind: 'thing', id: 'a', revision: 3 }]);
  });
});
