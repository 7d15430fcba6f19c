import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { startStoreUpkeep } from './store-upkeep.ts';

test('prunes the store repeatedly, even after a failure, and stops once closed', async () => {
  const logger = pino({ enabled: false });
  const times: number[] = [];
  const third = Promise.withResolvers<void>();
  const pruned: number[] = [];
  const store = {
    history: {
      prune: (beforeMs: number) => {
        pruned.push(beforeMs);
        return Promise.resolve(pruned.length === 1 ? 200 : 0);
      },
    },
    prune: (nowMs: number) => {
      times.push(nowMs);
      if (times.length === 3) third.resolve();
      return times.length === 1 ? Promise.reject(new Error('no database')) : Promise.resolve();
    },
  };
  const upkeep = startStoreUpkeep(store as never, { nowMs: () => 42 }, logger, { maxDays: 0, maxEntries: 0 }, 1);
  const keepAlive = setInterval(() => {}, 1000);
  await third.promise;
  await upkeep.close();
  clearInterval(keepAlive);
  assert.ok(pruned.length > times.length - 1, 'repeated until nothing was left to prune');
  const count = times.length;
  assert.deepEqual(new Set(times), new Set([42]));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(times.length, count);
});

test('does not make up for what it missed while the database was slow', async () => {
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  const store = {
    history: { prune: () => Promise.resolve(0) },
    prune: async () => {
      runs += 1;
      if (runs === 1) await gate.promise;
    },
  };
  const logger = pino({ enabled: false });
  const upkeep = startStoreUpkeep(store as never, { nowMs: () => 42 }, logger, { maxDays: 0, maxEntries: 0 }, 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  gate.resolve();
  await upkeep.close();
  assert.equal(runs, 1);
});
