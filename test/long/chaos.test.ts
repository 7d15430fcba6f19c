import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT_KINDS } from '../nodes/chaos/faults.ts';
import { checkChaos, describeChaos, runChaos } from '../nodes/chaos/run-chaos.ts';
import { isClockMovable } from '../support/movable-system-clock.ts';

const MINUTE_MS = 60_000;
const MAX_FAILED_SHARE = 0.001;
const MAX_AWAY_MS = 3000;

/**
 * The short form of this test is in `test/nodes/chaos`. POSTERN_CHAOS_MINUTES and POSTERN_CHAOS_SEED change and repeat
 * a run.
 */
test('three nodes under load survive a random fault every 20 seconds', { timeout: 55 * MINUTE_MS }, async (t) => {
  const seed = Number(process.env['POSTERN_CHAOS_SEED'] ?? Math.floor(Math.random() * 1_000_000));
  const minutes = Number(process.env['POSTERN_CHAOS_MINUTES'] ?? 30);
  console.log(`POSTERN_CHAOS_SEED=${seed}`);
  assert.ok(isClockMovable, 'faketime is not installed, so no clock would jump: apt-get install faketime');
  const figures = await runChaos(t, {
    seed,
    durationMs: minutes * MINUTE_MS,
    faultEveryMs: 20_000,
    kinds: FAULT_KINDS,
    pauseMs: 100,
    freezeMs: 10_000,
  });
  const described = `POSTERN_CHAOS_SEED=${seed}, ${minutes} minutes: ${describeChaos(figures)}`;
  console.log(described);
  checkChaos(figures);
  const { ledger } = figures;
  assert.deepEqual(
    ledger.failures.filter(({ fault }) => fault === null),
    [],
    'failed without a fault',
  );
  assert.ok(ledger.failures.length < ledger.total * MAX_FAILED_SHARE, described);
  assert.deepEqual(
    ledger.gapsMs.filter(({ ms }) => ms >= MAX_AWAY_MS),
    [],
    'tunnels that were away for longer',
  );
});
