// Own process: takes long, so it starts first.
import { test } from 'node:test';
import { isLong } from '../../support/share-of-cases.ts';
import { fuzzInProcess } from './support/fuzz-process.ts';

const CASES = isLong ? 800 : 200;
/**
 * The same cases in every run, so that a failure comes from the change; `test/long` tries others. POSTERN_TEST_SEED
 * chooses.
 */
const seed = Number(process.env['POSTERN_TEST_SEED'] ?? 1);

test(`${CASES} hostile requests and responses end neither the server nor the agent (seed ${seed})`, async (t) => {
  const { cases, honest, seconds, cpuSeconds, outcomes } = await fuzzInProcess({
    seed,
    cases: CASES,
    batch: 25,
    hasHop: isLong,
  });
  t.diagnostic(
    `${cases} cases, ${honest} honest requests, ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU; ${outcomes}`,
  );
});
