import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchClockSkew } from './clock-skew.ts';

test("reports a clock that differs from the database's by more than five seconds, until it is set", (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let nowMs = 1_000_000;
  let problem: string | null = null;
  const membership = {
    nowMs: () => 1_000_000,
    setProblem: (_key: string, text: string | null) => {
      problem = text;
    },
  };
  const watch = watchClockSkew(membership, { nowMs: () => nowMs });
  for (const [skewMs, expected] of [
    [5_000, null],
    [61_000, "the clock of this node is 61 seconds ahead of the database's"],
    [-3_600_000, "the clock of this node is 3600 seconds behind the database's"],
    [-5_000, null],
  ] as const) {
    nowMs = 1_000_000 + skewMs;
    t.mock.timers.tick(10_000);
    assert.equal(problem, expected);
  }
  watch.stop();
});
