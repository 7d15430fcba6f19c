import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { LimitTable } from './limit-table.ts';

const THREADS = 3;
const REQUESTS = 20_000;
const LIMIT = 10_000;

/** Each thread sends all of its requests as fast as it can. */
const PROGRAM = `
const { parentPort, workerData: { url, memory, thread, requests, limit } } = require('node:worker_threads');
import(url).then(({ LimitTable }) => {
  const table = new LimitTable({ memory, thread }, () => {});
  const hour = 3600000;
  const rates = ['a', 'b'].map((name) => ({ hashKey: table.hashKeyOf(name), intervalMs: hour, spanMs: hour * limit }));
  let passed = 0;
  for (let at = 0; at < requests; at += 1) if (table.spend(rates, ['all', 'of ' + (at % 2)]) === null) passed += 1;
  parentPort.postMessage(passed);
});
`;

test('threads that run at the same time admit as many requests as the limit, and not one more', async () => {
  const memory = LimitTable.memory(1_024);
  const url = new URL('./limit-table.ts', import.meta.url).href;
  const workers = Array.from({ length: THREADS }, (_, thread) => {
    const workerData = { url, memory, thread, requests: REQUESTS, limit: LIMIT };
    return new Worker(PROGRAM, { eval: true, workerData });
  });
  const passed = await Promise.all(workers.map(async (worker) => ((await once(worker, 'message')) as [number])[0]));
  await Promise.all(workers.map((worker) => worker.terminate()));
  assert.equal(
    passed.reduce((sum, each) => sum + each),
    LIMIT,
    passed.join(' '),
  );
});
