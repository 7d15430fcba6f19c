import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPublicName } from './public-name.ts';

test('a public name has a dot, is no address and has no private suffix', () => {
  for (const name of ['example.com', 'a.example.com', '*.example.com', 'xn--bcher-kva.example', 'local.example.com']) {
    assert.equal(isPublicName(name), true, name);
  }
  const others = [
    'localhost',
    'app.localhost',
    '*.localhost',
    'example',
    '*.example',
    'printer.local',
    'db.internal',
    'a.test',
    'a.invalid',
    'home.arpa',
    'nas.home.arpa',
    'abc.onion',
    '192.0.2.7',
    '2001:db8::1',
    '',
    '.',
    'a..b',
    'a.b.',
    '*.*.example.com',
    'a b.example.com',
    'my_app.example.com',
  ];
  for (const name of others) assert.equal(isPublicName(name), false, name);
});
