// Own process: measures memory.
import { test } from 'node:test';
import { checkSoak, describeSoak, runCycles } from '../support/soak-cycles.ts';

const CYCLES = 6;
const MB = 1_048_576;

/** `test/long/tunnel-cycles.test.ts` has a thousand, and agents that are lost. */
test(`${CYCLES} agents that come and go leave memory, sockets, timers and records unchanged`, async (t) => {
  const figures = await runCycles(t, { warmUp: 5, cycles: CYCLES, withAborts: false });
  t.diagnostic(describeSoak(figures));
  checkSoak(figures, 8 * MB);
});
