import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { startStoreUpkeep } from './store-upkeep.ts';

test('prunes the store repeatedly, even after a failure, and stops once closed', async () => {
  const logger = pino({ enabled: false });
  const times: number[] = [];
  const third = Promise.withResolvers<void>();
  const store = {
    prune: (nowMs: number) => {
      times.push(nowMs);
      if (times.length === 3) third.resolve();
      return times.length === 1 ? Promise.reject(new Error('no database')) : Promise.resolve();
    },
  };
  const upkeep = startStoreUpkeep(store, { nowMs: () => 42 }, logger, 1);
  const keepAlive = setInterval(() => {}, 1000);
  await third.promise;
  await upkeep.close();
  clearInterval(keepAlive);
  const count = times.length;
  assert.deepEqual(new Set(times), new Set([42]));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(times.length, count);
});
