import { expectedSteps, MAX_EXPECTED_STEPS } from './pattern-cost.ts';

/** Steps of all patterns of a module, in whose order a text may be tried against each. */
const MAX_TOTAL_SIZE = 4_000;
/** Before the engine makes them fewer. */
const MAX_TOTAL_EXPECTED = 2 * MAX_TOTAL_SIZE;
/** Steps times characters that one text may take: the worst patterns found take 100 ns for each. */
const MAX_WORK = 1_000_000;
/** The same for the one match with its groups, whose steps take longer. */
const MAX_MATCH_WORK = 500_000;
/** No path or program of a person is longer. */
const MAX_LENGTH = 2_048;

/** Whether patterns are too large together to be compiled at all. Those that are too large alone are refused without that. */
export function areTooLargeTogether(sources: readonly string[]): boolean {
  const steps = sources.map(expectedSteps).filter((each) => each <= MAX_EXPECTED_STEPS);
  return steps.reduce((total, each) => total + each, 0) > MAX_TOTAL_EXPECTED;
}

/** The sizes of compiled patterns. */
export function isTooLarge(totalSize: number): boolean {
  return totalSize > MAX_TOTAL_SIZE;
}

/** The longest text that patterns of this size may read: the time of a test, and of a match, grows with both. */
export function maxTextLength(totalSize: number, largestMatchSize = 1): number {
  const forMatch = Math.floor(MAX_MATCH_WORK / Math.max(1, largestMatchSize));
  return Math.min(MAX_LENGTH, Math.floor(MAX_WORK / Math.max(1, totalSize)), forMatch);
}
