import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeProblems } from './membership.ts';

const linesOf = (problems: NodeProblems) => problems.shown.map(({ message }) => message);
const about = (message: string) => ({ code: 'tested', message, advice: 'look' });

test('many ports hide nothing else, and the rest is counted', () => {
  const problems = new NodeProblems();
  for (let port = 1; port <= 30; port += 1)
    assert.equal(problems.set(`port ${port}`, about(`port ${port} is in use`)), true);
  assert.equal(problems.set('clock', about('the clock is wrong')), true);
  assert.equal(problems.shown.length, 20);
  assert.deepEqual(linesOf(problems).slice(0, 2), ['the clock is wrong', 'port 1 is in use']);
  assert.equal(linesOf(problems)[19], 'and 12 more problems');
  for (let port = 1; port <= 11; port += 1) problems.set(`port ${port}`, null);
  assert.equal(linesOf(problems).at(-1), 'port 30 is in use');
  assert.equal(problems.set('clock', about('the clock is wrong')), false);
});

test('their number and length are bounded', () => {
  const problems = new NodeProblems();
  for (let port = 1; port <= 1000; port += 1) problems.set(`port ${port}`, about('x'.repeat(1000)));
  assert.equal(problems.set('port 1001', about('x')), false);
  assert.equal(linesOf(problems)[0]?.length, 300);
  assert.equal(linesOf(problems).at(-1), 'and 981 more problems');
});
