import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { RefusedStreams } from './refused-streams.ts';

suite('streams that all nodes with an agent refuse', () => {
  let nowMs = 0;
  let answered: (() => void)[] = [];
  const at = (ms: number): void => {
    nowMs = ms;
  };
  const noRefusalFollows = (): void => {
    for (const task of answered.splice(0)) task();
  };
  const closed = (): RefusedStreams => {
    answered = [];
    const streams = new RefusedStreams({
      monotonicMs: () => nowMs,
      afterReading: (_ms, task) => void answered.push(task),
    });
    at(0);
    streams.refused();
    return streams;
  };

  test('are tried by one visitor at a time', () => {
    const streams = closed();
    assert.equal(streams.mayTry(), false);
    at(99);
    assert.equal(streams.mayTry(), false);
    at(100);
    assert.deepEqual([streams.mayTry(), streams.mayTry(), streams.mayTry()], [true, false, false]);
    streams.refused();
    noRefusalFollows();
    at(199);
    assert.equal(streams.mayTry(), false);
    at(200);
    assert.deepEqual([streams.mayTry(), streams.mayTry()], [true, false]);
  });

  test('are open to everybody when a try was not refused, and not before its answer could be read', () => {
    const streams = closed();
    at(100);
    assert.equal(streams.mayTry(), true);
    at(1900);
    assert.deepEqual([streams.mayTry(), streams.isClosed], [false, true]);
    noRefusalFollows();
    assert.deepEqual([streams.mayTry(), streams.mayTry(), streams.isClosed], [true, true, false]);
  });

  test('are open again after a while without visitors', () => {
    const streams = closed();
    at(1999);
    assert.equal(streams.isClosed, true);
    at(2000);
    assert.equal(streams.isClosed, false);
    assert.deepEqual([streams.mayTry(), streams.mayTry()], [true, true]);
  });
});
