import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { matchKey } from './match-key.ts';

suite('match key', () => {
  for (const [path, key] of [
    ['/a%20b/%7E%7e', '/a b/~~'],
    ['/a%2Fb%2fc/d', '/a%2Fb%2Fc/d'],
    ['/%252F%252f%25', '/%2F%2f%'],
    ['/%C3%A0%ff', '/\u00c3\u00a0\u00ff'],
    ['/%u0061%U0061%zz%', '/%u0061%U0061%zz%'],
    ['/%25u0061', '/%u0061'],
  ] as const)
    test(`of ${path} is ${JSON.stringify(key)}`, () => assert.equal(matchKey(path), key));

  test('of a path with as many escapes as a head may have takes less than a millisecond', () => {
    const path = '/%EF%B7%BA'.repeat(2_700);
    const rounds = 50;
    const before = process.cpuUsage().user;
    for (let round = 0; round < rounds; round += 1) matchKey(path);
    const microseconds = (process.cpuUsage().user - before) / rounds;
    assert.ok(microseconds < 1_000, `${microseconds} µs`);
  });
});
