import { suite, test } from 'node:test';
import { runKillLedger } from '../events/support/kill-ledger.ts';

/** The full form of `test/events/kill.test.ts`. */
suite('kill -9 twenty times in 100,000 events', () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(engine, async (t) => {
      const options = { engine, events: 50_000, kills: 20, failEvery: 2_000, patienceMs: 20 * 60_000 };
      const figures = await runKillLedger(t, options);
      t.diagnostic(JSON.stringify(figures));
      console.log(`${engine}: ${JSON.stringify(figures)}`);
    });
  }
});
