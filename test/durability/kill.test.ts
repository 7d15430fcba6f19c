// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { describeFigures, runKillRounds } from './kill-rounds.ts';

/** The short form; `test/long/kill.test.ts` runs a hundred rounds of each. */
suite('kill -9 under concurrent writers', { concurrency: 2 }, () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`${engine}: everything answered with 2xx is complete afterwards, and nothing else is there`, async (t) => {
      const rounds = 2;
      const figures = await runKillRounds(t, { engine, rounds, writers: 8, deadlineMs: 300_000 });
      t.diagnostic(describeFigures(figures));
      assert.equal(figures.rounds, rounds, 'the machine was too slow for the rounds');
      assert.ok(figures.acknowledged > 0, 'no write was acknowledged');
    });
  }
});
