import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createDeflate, createGzip, type Gzip, gunzipSync, inflateSync, type ZlibOptions } from 'node:zlib';
import fc from 'fast-check';
import { ReusedDeflate } from './reused-deflate.ts';

const MAX_BYTES = 4_096;
const TEXT = Buffer.from('{"id":1,"name":"user 7919"}'.repeat(60));

test('compresses many bodies with one state', () => {
  let created = 0;
  const create = (options: ZlibOptions): Gzip => {
    created += 1;
    return createGzip(options);
  };
  const reused = new ReusedDeflate(create, { level: 4 }, MAX_BYTES);
  for (let times = 0; times < 20; times += 1) assert.deepEqual(gunzipSync(reused.whole(TEXT)), TEXT);
  assert.equal(created, 1);
});

for (const [create, read] of [
  [createGzip, gunzipSync],
  [createDeflate, inflateSync],
] as const) {
  test(`what ${create.name} compresses does not depend on the bodies before`, () => {
    const reused = new ReusedDeflate(create, { level: 4 }, MAX_BYTES);
    const text = fc.string({ maxLength: 3 * MAX_BYTES }).map((value) => Buffer.from(value));
    const noise = fc.nat({ max: 3 * MAX_BYTES }).map((bytes) => randomBytes(bytes));
    fc.assert(
      fc.property(fc.array(fc.oneof(text, noise), { maxLength: 4 }), (bodies) => {
        const results = bodies.map((body) => reused.whole(body));
        // Read after the last one: no result shares memory with another.
        for (const [at, body] of bodies.entries()) {
          assert.deepEqual(read(results[at] as Buffer), body);
          assert.deepEqual(results[at], new ReusedDeflate(create, { level: 4 }, MAX_BYTES).whole(body));
        }
      }),
      { numRuns: 50 },
    );
  });
}

test('sets up another state after one has failed', () => {
  const reused = new ReusedDeflate(createGzip, { level: 4 }, MAX_BYTES);
  reused.whole(TEXT);
  assert.throws(() => reused.whole('no buffer' as unknown as Buffer));
  assert.deepEqual(gunzipSync(reused.whole(TEXT)), TEXT);
});
