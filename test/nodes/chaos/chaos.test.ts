// Own process: takes long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Change, changesNotIn } from './contested-document.ts';
import { FAULT_KINDS } from './faults.ts';
import { checkChaos, describeChaos, runChaos } from './run-chaos.ts';

/**
 * The short form of `test/long/chaos.test.ts`, which repeats every kind many times. POSTERN_CHAOS_SEED repeats a run.
 */
test('three nodes under load survive a fault of each kind', { timeout: 340_000 }, async (t) => {
  const seed = Number(process.env['POSTERN_CHAOS_SEED'] ?? Math.floor(Math.random() * 1_000_000));
  const figures = await runChaos(t, {
    seed,
    // Until a fault of each kind is over.
    durationMs: 0,
    faultEveryMs: 8_000,
    kinds: FAULT_KINDS,
    pauseMs: 2000,
    freezeMs: 4000,
  });
  const described = `POSTERN_CHAOS_SEED=${seed}: ${describeChaos(figures)}`;
  t.diagnostic(described);
  checkChaos(figures);
  const { ledger, faults, acknowledged, changes } = figures;
  assert.ok(faults.length >= FAULT_KINDS.length && acknowledged > 10 && changes > 10, described);
  // Other tests keep the machine busy, so that nodes miss their deadlines: here only most of it must work.
  assert.ok(ledger.failures.length < ledger.total / 20, described);
});

test('the check of a document that many change finds a lost change', () => {
  const change = (expected: string, written: string, outcome: Change['outcome'] = 'changed'): Change => {
    return { client: 0, startMs: 0, endMs: 0, expected, written, outcome };
  };
  const whole = [change('first', 'a'), change('a', 'x', 'conflict'), change('a', 'b', 'unknown'), change('b', 'c')];
  assert.deepEqual(changesNotIn(whole, 'c'), []);
  assert.deepEqual(changesNotIn(whole, 'b'), ['c after b']);
  assert.deepEqual(changesNotIn([...whole, change('a', 'd')], 'c'), ['d after a']);
});
