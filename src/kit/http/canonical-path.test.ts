import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { leastTime } from '../../../test/support/least-time.ts';
import { foldingsOf } from './canonical-path.ts';

function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function fold(text: string): string {
  return foldingsOf(bytesOf(text))[0] as string;
}

/** Planes 0, 1 and 14: the others contain only ideographs and private characters. */
function* characters(): Generator<string> {
  for (const [first, last] of [
    [0x80, 0xd7ff],
    [0xe000, 0x1ffff],
    [0xe0000, 0xe0fff],
  ] as const) {
    for (let code = first; code <= last; code += 1) yield String.fromCodePoint(code);
  }
}

suite('folded paths', () => {
  test('folds every character like its other cases and normal forms', () => {
    for (const character of characters()) {
      const folded = fold(character);
      const others = [character.toUpperCase(), character.toLowerCase(), character.normalize('NFD'), folded];
      for (const other of [...others, character.normalize('NFKC')]) {
        if (other !== character) assert.equal(fold(other), folded, `U+${character.codePointAt(0)?.toString(16)}`);
      }
    }
  });

  test('folds a character the same way at every position, so that prefixes stay prefixes', () => {
    const odd = fc.constantFrom(...'aAeΣσςİıſßﬁé각가\u0301\u0323\u0338\u034f\u200bﾞ①‰.:'.split(''));
    const texts = fc.array(odd, { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, texts, (start, end) => {
        assert.equal(fold(start + end), fold(start) + fold(end));
        assert.equal(fold((start + end).normalize('NFC')), fold((start + end).normalize('NFD')));
      }),
      { numRuns: 2000 },
    );
  });

  test('bytes that are not UTF-8 do not change how others fold', () => {
    assert.ok(foldingsOf(`${bytesOf('/admın')}/\xff`).includes('/admin/'));
    assert.ok(foldingsOf('/ad\xffmin').includes('/admin'));
    assert.ok(foldingsOf('/\xc0dmin').includes('/admin'));
  });

  test('takes linear time for runs of marks, which normalize() sorts in quadratic time', () => {
    const run = (length: number): string => bytesOf('\u0344'.repeat(length) + '\u0338'.repeat(length));
    const [short, long] = [run(2000), run(8000)];
    const ratio = leastTime(() => foldingsOf(long)) / leastTime(() => foldingsOf(short));
    assert.ok(ratio < 10, `four times the length takes ${ratio} times as long`);
  });
});
