import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseSilence } from './serving-right.ts';

test('a slow answer is no outage, and a missing one is', () => {
  let nowMs = 1_000;
  const silence = new DatabaseSilence(() => nowMs);
  silence.sent();
  silence.answered();
  nowMs = 1_400;
  silence.sent();
  nowMs = 1_650;
  assert.deepEqual([silence.ms, silence.isAway], [650, false], 'the heartbeat takes a quarter of a second');
  nowMs = 1_701;
  assert.equal(silence.isAway, true);
  silence.sent();
  assert.equal(silence.isAway, true, 'a further heartbeat is no answer');
  silence.answered();
  assert.deepEqual([silence.ms, silence.isAway], [0, false]);
});
