// Own process: takes long, so it starts first.
import { suite, test } from 'node:test';
import { firstOf } from '../support/share-of-cases.ts';
import { runKillLedger } from './support/kill-ledger.ts';

/** The short form of `test/long/events.test.ts`. */
suite('kill -9 while events are delivered to a receiver that misbehaves', { concurrency: 2 }, () => {
  for (const engine of firstOf(['sqlite', 'postgres'] as const)) {
    test(`${engine}: nothing is lost, the ledger balances, lanes keep their order`, async (t) => {
      const figures = await runKillLedger(t, { engine, events: 150, kills: 1, failEvery: 75, patienceMs: 200_000 });
      t.diagnostic(JSON.stringify(figures));
    });
  }
});
