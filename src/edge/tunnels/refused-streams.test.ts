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
  const opened = (): RefusedStreams => {
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
    const streams = opened();
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

  test('are sent for everybody when a try was not refused, and not before its answer could be read', () => {
    const streams = opened();
    at(100);
    assert.equal(streams.mayTry(), true);
    at(1900);
    assert.deepEqual([streams.mayTry(), streams.isOpen], [false, true]);
    noRefusalFollows();
    assert.deepEqual([streams.mayTry(), streams.mayTry(), streams.isOpen], [true, true, false]);
  });

  test('are sent again after a while without visitors', () => {
    const streams = opened();
    at(1999);
    assert.equal(streams.isOpen, true);
    at(2000);
    assert.equal(streams.isOpen, false);
    assert.deepEqual([streams.mayTry(), streams.mayTry()], [true, true]);
  });
});
