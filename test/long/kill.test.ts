import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { describeFigures, runKillRounds } from '../durability/kill-rounds.ts';

const ROUNDS = 100;

/** The full form of `test/durability/kill.test.ts`: at least 200 rounds over both engines. */
suite('kill -9 in a loop under concurrent writers', { concurrency: 2 }, () => {
  for (const engine of ['sqlite', 'postgres'] as const) {
    test(`${engine}: ${ROUNDS} rounds`, async (t) => {
      const figures = await runKillRounds(t, { engine, rounds: ROUNDS, writers: 16, deadlineMs: 30 * 60_000 });
      t.diagnostic(describeFigures(figures));
      console.log(`${engine}: ${describeFigures(figures)}`);
      assert.equal(figures.rounds, ROUNDS, 'the time was up before the rounds were done');
      assert.ok(figures.acknowledged > 10 * ROUNDS, 'the writers hardly wrote');
    });
  }
});
