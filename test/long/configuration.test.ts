import { test } from 'node:test';
import { checkRoundTrips } from '../changes/export-round-trip.ts';
import { killWhileApplying } from '../changes/killed-apply.ts';

const RUNS = 300;
const KILLS = 40;
const STEP_MS = 10;

test('exported configurations, applied to an empty installation, are equal', { timeout: 1_800_000 }, (t) =>
  checkRoundTrips(t, RUNS),
);

test('servers killed with SIGKILL while they apply a file have all of it or nothing', {
  timeout: 1_800_000,
}, async (t) => {
  const found: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) found.push(await killWhileApplying(t, kill * STEP_MS));
  t.diagnostic(`${found.filter((count) => count > 0).length} of ${KILLS} applied`);
});
