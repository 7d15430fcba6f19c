import { test } from 'node:test';
import { checkRoundTrips } from '../changes/export-round-trip.ts';

const RUNS = 300;

test('exported configurations, applied to an empty installation, are equal', { timeout: 1_800_000 }, (t) =>
  checkRoundTrips(t, RUNS),
);
