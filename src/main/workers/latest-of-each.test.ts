import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoginRecord } from '../../modules/contract/login-store.ts';
import { latestOfEach } from './latest-of-each.ts';

test('keeps the last version and the last use of each login, whichever threads know them', () => {
  const record = (id: string, version: number, lastActiveMs: number): LoginRecord =>
    ({ id, version, lastActiveMs }) as LoginRecord;
  const records = [record('a', 2, 10), record('b', 1, 5), record('a', 1, 30), record('a', 3, 20)];
  for (const order of [records, records.toReversed()])
    assert.deepEqual(
      latestOfEach(order).toSorted((one, other) => one.id.localeCompare(other.id)),
      [record('a', 3, 30), record('b', 1, 5)],
    );
});
