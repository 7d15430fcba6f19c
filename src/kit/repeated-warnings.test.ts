import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RepeatedWarnings } from './repeated-warnings.ts';

test('logs the same warning once in ten seconds, with the number of those that were left out', () => {
  const lines: unknown[] = [];
  let nowMs = 0;
  const warnings = new RepeatedWarnings({ warn: (fields) => lines.push(fields) }, 'rejected', () => nowMs);
  for (let count = 0; count < 300; count += 1) warnings.warn({ why: 'a' }, 'a');
  warnings.warn({ why: 'b' }, 'b');
  nowMs = 10_000;
  warnings.warn({ why: 'a' }, 'a');
  warnings.warn({ why: 'a' }, 'a');
  nowMs = 20_000;
  warnings.warn({ why: 'a' }, 'a');
  assert.deepEqual(lines, [{ why: 'a' }, { why: 'b' }, { why: 'a', unlogged: 299 }, { why: 'a', unlogged: 1 }]);
});

test('knows a thousand warnings', () => {
  let lines = 0;
  const log = {
    warn: () => {
      lines += 1;
    },
  };
  const warnings = new RepeatedWarnings(log, 'rejected', () => 0);
  for (let count = 0; count < 1_001; count += 1) warnings.warn({}, `${count}`);
  warnings.warn({}, '1000');
  assert.equal(lines, 1_001);
  warnings.warn({}, '0');
  assert.equal(lines, 1_002, 'the oldest was forgotten');
});
