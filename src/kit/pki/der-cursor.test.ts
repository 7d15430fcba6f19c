import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { DER, DerCursor, DerProblem } from './der-cursor.ts';

suite('DER elements', () => {
  test('are read with short and long lengths', () => {
    for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536]) {
      const cursor = new DerCursor(encoded(DER.octetString, Buffer.alloc(length, 7)));
      assert.equal(cursor.read(DER.octetString).contents.length, length);
      assert.equal(cursor.isAtEnd, true);
    }
  });

  const REJECTED: readonly (readonly [string, readonly number[]])[] = [
    ['nothing', []],
    ['a tag alone', [0x04]],
    ['another tag', [0x02, 0x01, 0x00]],
    ['a length beyond the end', [0x04, 0x02, 0x00]],
    ['an indefinite length', [0x04, 0x80, 0x00, 0x00]],
    ['a long form of a short length', [0x04, 0x81, 0x01, 0x00]],
    ['a length with a leading zero', [0x04, 0x82, 0x00, 0x80, ...Array.from({ length: 128 }, () => 0)]],
    ['a length of five bytes', [0x04, 0x85, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00]],
    ['a cut length', [0x04, 0x82, 0x01]],
  ];
  for (const [name, bytes] of REJECTED) {
    test(`rejects ${name}`, () => {
      assert.throws(() => new DerCursor(Buffer.from(bytes)).read(DER.octetString), DerProblem);
    });
  }

  test('never reads outside of its part', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.nat(64), fc.nat(64), (bytes, a, b) => {
        const [from, to] = [Math.min(a, b, bytes.length), Math.min(Math.max(a, b), bytes.length)];
        const cursor = new DerCursor(Buffer.from(bytes), from, to);
        try {
          while (!cursor.isAtEnd) {
            cursor.read(cursor.nextTag);
            assert.ok(from <= cursor.from && cursor.from <= cursor.to && cursor.to <= to);
          }
        } catch (error) {
          assert.ok(error instanceof DerProblem);
        }
      }),
    );
  });
});

function encoded(tag: number, contents: Buffer): Buffer {
  const { length } = contents;
  const size =
    length < 0x80
      ? []
      : length < 0x100
        ? [length]
        : length < 0x10000
          ? [length >> 8, length & 0xff]
          : [length >> 16, (length >> 8) & 0xff, length & 0xff];
  const first = size.length === 0 ? [length] : [0x80 + size.length, ...size];
  return Buffer.concat([Buffer.from([tag, ...first]), contents]);
}
