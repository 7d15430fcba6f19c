import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { leastTime } from '../../../test/support/least-time.ts';
import { asciiForm, readingsOf } from './path-readings.ts';

suite('readings of a path', () => {
  test('decodes overlong UTF-8 of every length, double-escaped and mixed', () => {
    for (const a of [
      '\xc1\xa1',
      '\xe0\x81\xa1',
      '\xf0\x80\x81\xa1',
      '\xf8\x80\x80\x81\xa1',
      '\xfc\x80\x80\x80\x81\xa1',
      '\xf8%80\x80%81\xa1',
      '%fc%80%80%80%81%a1',
      '%25f8%2580%2580%2581%25a1',
    ]) {
      assert.ok(readingsOf(`/${a}dmin`)?.has('/admin'), a);
    }
    assert.ok(readingsOf('/\xf8\x80\x8f\xbd\x81')?.has('/a'), 'an overlong full-width letter');
    assert.ok(readingsOf('/\xe0\x84\xb1')?.has('/\xc4\xb1'), 'an overlong dotless i');
    assert.deepEqual(readingsOf('/\xf8\x87\xbf\xbf\xbf'), new Set(['/\xf8\x87\xbf\xbf\xbf']), 'beyond Unicode');
  });

  test('one change does not hide the page that another leads to', () => {
    for (const [key, page] of [
      ['/admin\xc0\xbb\xef\xbc\x8fx', '/admin'],
      ['/x?/../admin#/../..', '/admin'],
      ['/x?/../admin\0/../..', '/admin'],
      ['/a/.\x01./../ad\tmin', '/a/admin'],
      ['/%61dmin%2Fx', '/admin%2Fx'],
      ['/%61dmin%2fx%252F', '/admin/x%2F'],
      ['/admin;/x', '/admin'],
    ] as const) {
      assert.ok(readingsOf(key)?.has(page), JSON.stringify(key));
    }
  });

  test('are rejected beyond 65,536 characters in total', () => {
    const pieces = fc.constantFrom(
      '%2525',
      '\xef\xbd\x81',
      '\xc1\xa1',
      ';x',
      '%252f',
      '..%20/',
      '\xcd\x84',
      'a?',
      '\\',
    );
    fc.assert(
      fc.property(pieces, pieces, fc.integer({ min: 1000, max: 6000 }), (one, other, count) => {
        const readings = readingsOf(`/${one.repeat(count)}${other.repeat(count)}%252525252561`);
        const characters = [...(readings ?? [])].reduce((sum, reading) => sum + reading.length, 0);
        assert.ok(characters <= 65_536, `${characters} characters`);
      }),
      { numRuns: 30 },
    );
    assert.equal(readingsOf(`/${'a'.repeat(32_000)}%252561`), null);
    assert.equal(readingsOf(`/${'a'.repeat(32_000)}%61`)?.size, 2);
  });

  test('take linear time for escapes of escapes', () => {
    for (const escapes of [
      (length: number) => `/%${'25'.repeat(length)}41`,
      (length: number) => `/${'%2541'.repeat(length)}`,
    ]) {
      const [short, long] = [escapes(1000), escapes(4000)];
      const ratio = leastTime(() => readingsOf(long)) / leastTime(() => readingsOf(short));
      assert.ok(ratio < 10, `four times the length takes ${ratio} times as long`);
    }
  });
});

test('exactly the characters of Unicode that normalize to ASCII have a form', () => {
  const wrong: string[] = [];
  let count = 0;
  for (let code = 0x80; code <= 0x10ffff; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    const form = character.normalize('NFKC');
    const isAscii = /^[ -~]+$/.test(form);
    if (isAscii) count += 1;
    const expected = isAscii ? form : undefined;
    if (asciiForm(Buffer.from(character).toString('latin1')) !== expected) wrong.push(code.toString(16));
  }
  assert.deepEqual(wrong, []);
  assert(count > 1000, `${count}`);
});

test('an overlong or impossible character has no form', () => {
  const bytes = ['\xe0\x81\x81', '\xf0\x8f\xbc\xa1', '\xed\xa0\x80', '\xf4\xbf\xbf\xbf'];
  assert.deepEqual(bytes.map(asciiForm), [undefined, undefined, undefined, undefined]);
});
