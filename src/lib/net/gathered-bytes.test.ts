import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { GatheredBytes } from './gathered-bytes.ts';

suite('bytes that arrive in pieces', () => {
  test('come out as they came in, at any time', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 3 }), { maxLength: 1000 }), fc.nat(1000), (pieces, looked) => {
        const gathered = new GatheredBytes();
        for (const [at, piece] of pieces.entries()) {
          gathered.add(Buffer.from(piece));
          if (at === looked) gathered.chunks();
        }
        const expected = Buffer.concat(pieces);
        assert.ok(gathered.whole().equals(expected));
        assert.equal(gathered.length, expected.length);
      }),
      { numRuns: 30 },
    );
  });

  test('are few objects, however small the pieces are', () => {
    const gathered = new GatheredBytes();
    for (let count = 0; count < 100_000; count += 1) gathered.add(Buffer.from([count]));
    assert.equal(gathered.length, 100_000);
    assert.ok(gathered.chunks().length < 400, `${gathered.chunks().length}`);
  });

  test('are not copied when they are large', () => {
    const gathered = new GatheredBytes();
    const piece = Buffer.alloc(100_000);
    gathered.add(piece);
    assert.equal(gathered.chunks()[0], piece);
  });
});
