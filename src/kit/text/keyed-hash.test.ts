import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedHash } from './keyed-hash.ts';

/** Two words, in the order of their bytes. */
function hashOf(key: Buffer, text: string): string {
  const into = new Int32Array(2);
  keyedHash(new Int32Array([key.readInt32LE(0), key.readInt32LE(4)]), text, into);
  return Buffer.from(into.buffer).toString('hex');
}

test('is HalfSipHash-2-4: the vectors of its authors, for messages of whole code units', () => {
  const key = Buffer.from([0, 1, 2, 3, 4, 5, 6, 7]);
  for (const [length, expected] of [
    [0, '218d1f59b9b83cc8'],
    [2, '064f39ef7c50eb57'],
    [4, 'd5e78a175be52ea1'],
    [6, 'ce3e91358aa2bc25'],
    [8, 'edfee820bce4858c'],
  ] as const) {
    const message = Buffer.from(Array.from({ length }, (_, at) => at)).toString('utf16le');
    assert.equal(hashOf(key, message), expected, `${length} bytes`);
  }
});

test('depends on the key', () => {
  const [one, other] = [Buffer.alloc(8, 1), Buffer.alloc(8, 2)];
  assert.notEqual(hashOf(one, '192.0.2.1'), hashOf(other, '192.0.2.1'));
});
