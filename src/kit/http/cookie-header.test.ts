import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cookiesWhere, cookieValues, markedCookies, withoutMarked } from './cookie-header.ts';

suite('the reader of cookies', () => {
  test('finds all values of a name, in the order of the lines', () => {
    assert.deepEqual(cookieValues(['a=1; b=2;a=3', ' a = no; a=4 '], 'a'), ['1', '3', '4']);
  });

  test('reads the same by name, by mark and by a condition', () => {
    for (const line of [
      'x=mark.1; y=mark.2',
      'x=mark.1;z',
      ' x=mark.1 ;; =mark.0',
      'y="x=mark.1"; x=mark.1',
      'y=; x=mark.1=2',
    ]) {
      const byName = cookieValues([line], 'x');
      assert.deepEqual(
        byName,
        cookiesWhere([line], ({ name }) => name === 'x').map(({ value }) => value),
        line,
      );
      assert.deepEqual(
        byName,
        markedCookies([line], 'mark.').flatMap(({ name, value }) => (name === 'x' ? [value] : [])),
        line,
      );
    }
  });

  test('finds no cookie inside the name or value of another', () => {
    assert.deepEqual(cookieValues(['y=1 x=2; zx=3; y="x=4"; y=x=5'], 'x'), []);
  });

  test('leaves nothing marked to upstreams, with a name or without', () => {
    assert.equal(withoutMarked('a=1; x=mark.2; mark.3; =mark.4;b=mark', 'mark.'), 'a=1;b=mark');
    assert.equal(withoutMarked('x=mark.1', 'mark.'), '');
  });
});
