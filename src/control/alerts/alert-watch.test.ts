import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from './alert-kind.ts';
import { SteadyState } from './alert-watch.ts';

const TIMES = { raiseAfterMs: 100, resolveAfterMs: 50 };
const finding = (state: Finding['state'], subject = 'x'): Finding => ({ subject, state, title: subject });

test('raises what stays bad, and not what was well in between', () => {
  const steady = new SteadyState();
  const raise = (nowMs: number, ...found: Finding[]) => steady.toRaise(found, new Set(), nowMs, TIMES).length;
  assert.equal(raise(0, finding('bad')), 0);
  assert.equal(raise(90, finding('well')), 0);
  assert.equal(raise(110, finding('bad')), 0);
  // What is unknown neither counts as bad nor restarts the time.
  assert.equal(raise(215, finding('unknown')), 0);
  assert.equal(raise(216, finding('bad')), 1);
  assert.equal(raise(217), 0);
  assert.equal(raise(400, finding('bad')), 0);
});

test('raises nothing twice, and resolves what stays well or is gone', () => {
  const steady = new SteadyState();
  const raised = new Set(['x']);
  assert.deepEqual(steady.toRaise([finding('bad')], raised, 1_000, TIMES), []);
  const resolve = (nowMs: number, ...found: Finding[]) => steady.toResolve(found, raised, nowMs, TIMES).length;
  assert.equal(resolve(1_000, finding('well')), 0);
  assert.equal(resolve(1_040, finding('bad')), 0);
  assert.equal(resolve(1_060, finding('well')), 0);
  assert.equal(resolve(1_200, finding('unknown')), 0);
  assert.equal(resolve(1_210), 1);
});

test('starts again when another process has looked meanwhile', () => {
  const steady = new SteadyState();
  steady.toRaise([finding('bad')], new Set(), 0, TIMES);
  steady.forget();
  assert.deepEqual(steady.toRaise([finding('bad')], new Set(), 1_000, TIMES), []);
});
