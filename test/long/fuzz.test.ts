import { test } from 'node:test';
import { fuzzInProcess } from '../edge/fuzz/support/fuzz-process.ts';

const CASES = Number(process.env['POSTERN_TEST_CASES'] ?? 200_000);
const seed = Number(process.env['POSTERN_TEST_SEED'] ?? Date.now() % 1_000_000_000);

/** The full form of `test/edge/fuzz/fuzz.test.ts`. */
test(`${CASES} hostile requests and responses end neither the server nor the agent (seed ${seed})`, async () => {
  const { cases, honest, seconds, cpuSeconds, outcomes } = await fuzzInProcess({
    seed,
    cases: CASES,
    batch: 100,
    hasHop: true,
  });
  console.log(
    `${cases} cases, ${honest} honest requests, ${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of CPU; ${outcomes}`,
  );
});
