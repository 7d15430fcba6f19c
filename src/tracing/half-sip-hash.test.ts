import assert from 'node:assert/strict';
import { test } from 'node:test';
import { halfSipHash } from './half-sip-hash.ts';

test('the hash is as in the vectors of its authors (vectors_hsip32, for 0 and 4 bytes)', () => {
  assert.equal(halfSipHash([], 0x03020100, 0x07060504), 0x5b9f35a9);
  assert.equal(halfSipHash([0x03020100], 0x03020100, 0x07060504), 0x89466e2a);
});

test('every bit of words and key counts', () => {
  const hashes = new Set([
    halfSipHash([0, 0, 0, 0], 0, 0),
    halfSipHash([0, 0, 0, 0], 1, 0),
    halfSipHash([0, 0, 0, 0], 0, 1),
  ]);
  for (let word = 0; word < 4; word += 1)
    for (let bit = 0; bit < 32; bit += 1) {
      const words = [0, 0, 0, 0];
      words[word] = (1 << bit) >>> 0;
      hashes.add(halfSipHash(words, 0, 0));
    }
  assert.equal(hashes.size, 3 + 128);
});
