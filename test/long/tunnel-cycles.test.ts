import { test } from 'node:test';
import { checkSoak, describeSoak, runCycles } from '../tunnel/support/soak-cycles.ts';

const CYCLES = 1_000;
const MB = 1_048_576;

/** The full form of `test/tunnel/lists/cycles.test.ts`. */
test(`${CYCLES} agents that come and go, some of them without notice, leave everything unchanged`, async (t) => {
  const figures = await runCycles(t, { warmUp: 60, cycles: CYCLES, withAborts: true });
  t.diagnostic(describeSoak(figures));
  console.log(describeSoak(figures));
  checkSoak(figures, MB);
});
