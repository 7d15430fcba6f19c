import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAuthority } from './is-authority.ts';

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
