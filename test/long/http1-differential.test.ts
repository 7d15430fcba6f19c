import { test } from 'node:test';
import { findDifferences } from '../edge/http1/differences.ts';

const CASES = Number(process.env['POSTERN_TEST_CASES'] ?? 150_000);
const seed = Number(process.env['POSTERN_TEST_SEED'] ?? Date.now() % 1_000_000_000);

/** The full form of `test/edge/http1/differential.test.ts`. */
test(`${CASES} hostile inputs are read as llhttp reads them, or refused (seed ${seed})`, async () => {
  const { accepted, stricter } = await findDifferences(seed, CASES);
  console.log(`${accepted} requests accepted; refused only by the edge: ${JSON.stringify([...stricter])}`);
});
