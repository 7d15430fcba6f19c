import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeProblems } from './membership.ts';

test('many ports hide nothing else, and the rest is counted', () => {
  const problems = new NodeProblems();
  for (let port = 1; port <= 30; port += 1) assert.equal(problems.set(`port ${port}`, `port ${port} is in use`), true);
  assert.equal(problems.set('clock', 'the clock is wrong'), true);
  assert.equal(problems.lines.length, 20);
  assert.deepEqual([problems.lines[0], problems.lines[1]], ['the clock is wrong', 'port 1 is in use']);
  assert.equal(problems.lines[19], 'and 12 more problems');
  for (let port = 1; port <= 11; port += 1) problems.set(`port ${port}`, null);
  assert.equal(problems.lines.at(-1), 'port 30 is in use');
  assert.equal(problems.set('clock', 'the clock is wrong'), false);
});

test('their number and length are bounded', () => {
  const problems = new NodeProblems();
  for (let port = 1; port <= 1000; port += 1) problems.set(`port ${port}`, 'x'.repeat(1000));
  assert.equal(problems.set('port 1001', 'x'), false);
  assert.equal(problems.lines[0]?.length, 300);
  assert.equal(problems.lines.at(-1), 'and 981 more problems');
});
