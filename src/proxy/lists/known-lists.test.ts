import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownLists } from './known-lists.ts';

test('a list that is forgotten is forgotten by the threads that receive it', () => {
  const main = new KnownLists();
  const worker = new KnownLists();
  main.onNews((news) => worker.tell(news));
  const stop = main.onForget((id) => worker.forget(id));
  const news = { source: 'file list.txt', table: null, problem: 'it is being loaded' };
  for (const id of ['ipl_1', 'ipl_2']) main.tell({ id, ...news });
  main.forget('ipl_1');
  assert.deepEqual(
    worker.all().map(({ id }) => id),
    ['ipl_2'],
  );
  stop();
  main.forget('ipl_2');
  assert.equal(worker.all().length, 1);
});
