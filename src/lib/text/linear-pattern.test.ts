import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePattern, loadPatternEngine } from './linear-pattern.ts';

test('matches and captures, and refuses what would not take linear time', async () => {
  if (loadPatternEngine() !== null) assert.throws(() => compilePattern('a'), /not loaded/);
  await loadPatternEngine();
  assert.equal(loadPatternEngine(), null);
  const pattern = compilePattern('^/a/([^/]*)(/x)?$');
  assert.ok(!('problem' in pattern));
  assert.deepEqual(pattern.match('/a/b'), ['/a/b', 'b', undefined]);
  assert.deepEqual([pattern.match('/b'), pattern.test('/a/'), pattern.groupCount], [null, true, 2]);
  for (const source of ['(?<=a)b', '(a)\\1', '[', 'a{2000}', '(a{500}){3}'])
    assert.ok('problem' in compilePattern(source), source);
  const slow = compilePattern('(x+x+)+y');
  assert.ok(!('problem' in slow));
  assert.equal(slow.test('x'.repeat(50_000)), false);
});
