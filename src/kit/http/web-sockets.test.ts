import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { FrameBoundary } from './web-sockets.ts';

const frames = [
  { name: 'empty', bytes: Buffer.from([0x89, 0]) },
  { name: 'short', bytes: Buffer.from([0x81, 3, 1, 2, 3]) },
  { name: 'masked', bytes: Buffer.from([0x81, 0x83, 9, 9, 9, 9, 1, 2, 3]) },
  { name: 'of 16 bits', bytes: Buffer.concat([Buffer.from([0x82, 126, 1, 0]), Buffer.alloc(256)]) },
  {
    name: 'of 64 bits',
    bytes: Buffer.concat([Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]), Buffer.alloc(65_536)]),
  },
];

for (const { name, bytes } of frames) {
  test(`knows the end of a frame that is ${name}, whole and byte by byte`, () => {
    const whole = new FrameBoundary();
    whole.pass(Buffer.concat([bytes, bytes]));
    assert.equal(whole.isBetweenFrames, true);
    const pieces = new FrameBoundary();
    for (let at = 0; at < bytes.length - 1; at += 1) {
      pieces.pass(bytes.subarray(at, at + 1));
      assert.equal(pieces.isBetweenFrames, false, `after ${at + 1} bytes`);
    }
    pieces.pass(bytes.subarray(-1));
    assert.equal(pieces.isBetweenFrames, true);
  });
}

test('passes frame by frame, however the bytes are split', () => {
  const ends: number[] = [];
  const all = Buffer.concat(
    Array.from({ length: 200 }, () => {
      const { bytes } = frames[randomInt(4)] as (typeof frames)[number];
      ends.push((ends.at(-1) ?? 0) + bytes.length);
      return bytes;
    }),
  );
  const boundary = new FrameBoundary();
  const found: number[] = [];
  for (let at = 0; at < all.length; ) {
    const chunk = all.subarray(at, at + randomInt(1, 700));
    for (let from = 0; from < chunk.length; ) {
      from = boundary.passFrame(chunk, from);
      if (boundary.isBetweenFrames) found.push(at + from);
    }
    at += chunk.length;
  }
  assert.deepEqual(found, ends);
  assert.equal(boundary.hasClose, false);
});

test('knows that a Close frame has passed', () => {
  const boundary = new FrameBoundary();
  boundary.pass(Buffer.from([0x81, 1, 0x88]));
  assert.equal(boundary.hasClose, false);
  boundary.pass(Buffer.from([0x88, 0]));
  assert.equal(boundary.hasClose, true);
});
