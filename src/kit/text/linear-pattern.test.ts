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

test('refuses what the engine would take long to compile, before it does', async () => {
  await loadPatternEngine();
  const wide = String.raw`b-\x{1e942}`;
  for (const source of [
    `(?i)[${wide.repeat(80)}]`,
    `(?i)[${'b-\u{1e942}'.repeat(80)}]`,
    String.raw`\pL`.repeat(300),
    `[${String.raw`\PN`.repeat(300)}]`,
  ])
    assert.match(problemOf(source), /outside Latin-1|too many classes/, source);
  // What a class, a quotation or an escape holds is no group.
  for (const start of ['', '[(]', '[](]', '[[:alpha:](]', String.raw`\Q(\E`, String.raw`\(`, '(?i)', '(?P<a>b)'])
    assert.match(problemOf(`(?:${'a'.repeat(800)}${start}b){200}`), /to about \d{6} steps/, start);
  assert.match(problemOf('a{1000}'.repeat(140)), /to about 140000 steps/);
  for (const source of [
    '^/users/([0-9]{1,10})$',
    '(?i)bot',
    'x'.repeat(990),
    '[a-z_-]{64}',
    String.raw`[\pL\pN]+\x{ff}`,
  ])
    assert.ok(!('problem' in compilePattern(source)), source);
});

function problemOf(source: string): string {
  const compiled = compilePattern(source);
  return 'problem' in compiled ? compiled.problem : '';
}
