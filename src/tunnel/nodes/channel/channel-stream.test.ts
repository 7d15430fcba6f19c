import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ChunkQueue } from './channel-stream.ts';

suite('a queue of chunks', () => {
  test('gives back all bytes in order, however they come and go', () => {
    const step = fc.oneof(
      fc.record({ push: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 900, max: 40_000 })) }),
      fc.record({ take: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 50_000 })) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new ChunkQueue();
        let next = 0;
        const pushed: Buffer[] = [];
        const taken: Buffer[] = [];
        for (const one of steps) {
          if ('push' in one) {
            next += 1;
            const chunk = Buffer.alloc(one.push, next % 256);
            pushed.push(Buffer.from(chunk));
            queue.push(chunk);
          } else {
            const chunk = queue.take(one.take);
            assert.equal(chunk === null, queue.bytes === 0 && chunk === null);
            assert.ok(chunk === null || (chunk.length > 0 && chunk.length <= one.take));
            if (chunk !== null) taken.push(Buffer.from(chunk));
          }
          const left = Buffer.concat(pushed).length - Buffer.concat(taken).length;
          assert.equal(queue.bytes, left);
        }
        for (let chunk = queue.take(7_000); chunk !== null; chunk = queue.take(7_000)) taken.push(Buffer.from(chunk));
        assert.ok(Buffer.concat(taken).equals(Buffer.concat(pushed)));
      }),
      { numRuns: 300 },
    );
  });

  test('does not change what it has given away', () => {
    const queue = new ChunkQueue();
    queue.push(Buffer.from('ab'));
    const first = queue.take(1);
    queue.push(Buffer.from('cd'));
    const second = queue.take(10);
    queue.push(Buffer.from('ef'));
    assert.deepEqual([String(first), String(second), String(queue.take(9)), queue.bytes], ['a', 'b', 'cdef', 0]);
  });

  test('joins single bytes, and takes time that grows with their number only', () => {
    const queue = new ChunkQueue();
    for (let count = 0; count < 1_000_000; count += 1) queue.push(Buffer.from([count % 256]));
    let chunks = 0;
    while (queue.take(100_000) !== null) chunks += 1;
    assert.ok(chunks < 100, `${chunks} chunks`);
    for (let count = 0; count < 300_000; count += 1) queue.push(LARGER);
    while (queue.take(100_000) !== null) chunks += 1;
    assert.ok(chunks > 300_000);
  });
});

const LARGER = Buffer.alloc(1_024);
