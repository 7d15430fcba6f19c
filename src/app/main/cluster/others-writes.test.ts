import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import type { NodeNews } from '../../../tunnel/nodes/news/node-news.ts';
import { othersWrites } from './others-writes.ts';

function catchUp(
  isShared: boolean,
  refresh: () => Promise<void>,
  news: Partial<NodeNews> | null = null,
): Promise<void> {
  const store = { sharing: { isShared } } as Store;
  return othersWrites(store, { refresh } as unknown as Replica, news as NodeNews | null).catchUp();
}

suite('what other nodes wrote', () => {
  test('is read, unless nobody else uses the store', async () => {
    let reads = 0;
    const refresh = async (): Promise<void> => {
      reads += 1;
    };
    await catchUp(true, refresh);
    assert.equal(reads, 1);
    await catchUp(false, refresh);
    assert.equal(reads, 1);
  });

  test('is asked of linked nodes where there are some', async () => {
    await catchUp(true, () => assert.fail('the news decide'), { catchUp: () => Promise.resolve() });
  });

  test('is unknown when the store fails or does not answer, which is the answer', async () => {
    const expected = { code: 'ERR_POSTERN_STORE_UNAVAILABLE', message: /nothing was written, send the request again/ };
    const fail = (): Promise<void> => Promise.reject(new Error('a password'));
    await assert.rejects(catchUp(true, fail), expected);
    await assert.rejects(catchUp(true, fail, { catchUp: fail }), expected);
  });
});
