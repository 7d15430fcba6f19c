import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isAuthority, matchKey } from './urls.ts';

test('a host is a name with or without a port, and nothing that two programs read differently', () => {
  for (const text of ['a', 'a.example', 'A-b_c.example:1', '127.0.0.1:65535'])
    assert.equal(isAuthority(text), true, text);
  for (const text of [
    '',
    'a:0',
    'a:080',
    'a:65536',
    'a:99999',
    'a:',
    'a b',
    'a/b',
    'a@b',
    '[::1]',
    'a:1:2',
    'a\n',
    'é',
  ])
    assert.equal(isAuthority(text), false, text);
});

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
