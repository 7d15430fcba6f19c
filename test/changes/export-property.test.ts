import { test } from 'node:test';
import { checkRoundTrips } from './export-round-trip.ts';

/** `test/long` has more of them. */
const RUNS = 3;

test('an exported configuration, applied to an empty installation, is equal, and applies again without a change', (t) =>
  checkRoundTrips(t, RUNS));
