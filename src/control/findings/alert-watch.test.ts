import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sighting } from './alert-kind.ts';
import { SteadyState } from './alert-watch.ts';

const TIMES = { raiseAfterMs: 100, resolveAfterMs: 50 };
const sighting = (state: Sighting['state'], subject = 'x'): Sighting => ({ subject, state, title: subject });

test('raises what stays bad, and not what was well in between', () => {
  const steady = new SteadyState();
  const raise = (nowMs: number, ...found: Sighting[]) => steady.toRaise(found, new Set(), nowMs, TIMES).length;
  assert.equal(raise(0, sighting('bad')), 0);
  assert.equal(raise(90, sighting('well')), 0);
  assert.equal(raise(110, sighting('bad')), 0);
  // What is unknown neither counts as bad nor restarts the time.
  assert.equal(raise(215, sighting('unknown')), 0);
  assert.equal(raise(216, sighting('bad')), 1);
  assert.equal(raise(217), 0);
  assert.equal(raise(400, sighting('bad')), 0);
});

test('raises nothing twice, and resolves what stays well or is gone', () => {
  const steady = new SteadyState();
  const raised = new Set(['x']);
  assert.deepEqual(steady.toRaise([sighting('bad')], raised, 1_000, TIMES), []);
  const resolve = (nowMs: number, ...found: Sighting[]) => steady.toResolve(found, raised, nowMs, TIMES).length;
  assert.equal(resolve(1_000, sighting('well')), 0);
  assert.equal(resolve(1_040, sighting('bad')), 0);
  assert.equal(resolve(1_060, sighting('well')), 0);
  assert.equal(resolve(1_200, sighting('unknown')), 0);
  assert.equal(resolve(1_210), 1);
});

test('starts again when another process has looked meanwhile', () => {
  const steady = new SteadyState();
  steady.toRaise([sighting('bad')], new Set(), 0, TIMES);
  steady.forget();
  assert.deepEqual(steady.toRaise([sighting('bad')], new Set(), 1_000, TIMES), []);
});
