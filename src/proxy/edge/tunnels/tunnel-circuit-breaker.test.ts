import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TunnelCircuitBreaker } from './tunnel-circuit-breaker.ts';

suite('streams that all nodes with an agent refuse', () => {
  let nowMs = 0;
  let answered: (() => void)[] = [];
  const at = (ms: number): void => {
    nowMs = ms;
  };
  const noRefusalFollows = (): void => {
    for (const task of answered.splice(0)) task();
  };
  const opened = (): TunnelCircuitBreaker => {
    answered = [];
    const breaker = new TunnelCircuitBreaker({
      monotonicMs: () => nowMs,
      afterReading: (_ms, task) => void answered.push(task),
    });
    at(0);
    breaker.refused();
    return breaker;
  };

  test('are tried by one visitor at a time', () => {
    const breaker = opened();
    assert.equal(breaker.mayTry(), false);
    at(99);
    assert.equal(breaker.mayTry(), false);
    at(100);
    assert.deepEqual([breaker.mayTry(), breaker.mayTry(), breaker.mayTry()], [true, false, false]);
    breaker.refused();
    noRefusalFollows();
    at(199);
    assert.equal(breaker.mayTry(), false);
    at(200);
    assert.deepEqual([breaker.mayTry(), breaker.mayTry()], [true, false]);
  });

  test('are sent for everybody when a try was not refused, and not before its answer could be read', () => {
    const breaker = opened();
    at(100);
    assert.equal(breaker.mayTry(), true);
    at(1900);
    assert.deepEqual([breaker.mayTry(), breaker.isOpen], [false, true]);
    noRefusalFollows();
    assert.deepEqual([breaker.mayTry(), breaker.mayTry(), breaker.isOpen], [true, true, false]);
  });

  test('are sent again after a while without visitors', () => {
    const breaker = opened();
    at(1999);
    assert.equal(breaker.isOpen, true);
    at(2000);
    assert.equal(breaker.isOpen, false);
    assert.deepEqual([breaker.mayTry(), breaker.mayTry()], [true, true]);
  });
});
