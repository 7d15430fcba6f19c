import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ChannelViolation, DATA, FrameReader, listOf, textOf, UnsendableList } from './channel-frames.ts';

interface Frame {
  readonly type: number;
  readonly id: number;
  readonly payload: Uint8Array;
}

function bytesOf({ type, id, payload }: Frame): Buffer {
  const header = Buffer.alloc(10);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUIntBE(id, 4, 6);
  return Buffer.concat([header, payload]);
}

/** Parts of data are joined: how they are split is not promised. */
function read(chunks: readonly Buffer[]): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader({
    onFrame: (type, id, bytes, start, end) =>
      frames.push({ type, id, payload: Buffer.from(bytes.subarray(start, end)) }),
    onChunk: (id, chunk) => {
      assert.ok(chunk.length > 0);
      frames.push({ type: DATA, id, payload: Buffer.from(chunk) });
    },
  });
  for (const chunk of chunks) reader.read(chunk);
  return joined(frames);
}

function joined(frames: readonly Frame[]): Frame[] {
  const result: Frame[] = [];
  for (const frame of frames) {
    const last = result.at(-1);
    if (frame.type === DATA && last?.type === DATA && last.id === frame.id)
      result[result.length - 1] = { ...last, payload: Buffer.concat([last.payload, frame.payload]) };
    else if (frame.type !== DATA || frame.payload.length > 0)
      result.push({ ...frame, payload: Buffer.from(frame.payload) });
  }
  return result;
}

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end));
}

const anyFrame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  id: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2 ** 48 - 1 })),
  payload: fc.uint8Array({ maxLength: 60 }),
});

suite('a reader of frames', () => {
  test('finds the same frames however their bytes are split', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 12 }), fc.array(fc.nat(1000), { maxLength: 20 }), (frames, cuts) => {
        const chunks = split(Buffer.concat(frames.map(bytesOf)), cuts);
        assert.deepEqual(read(chunks), joined(frames));
      }),
      { numRuns: 1000 },
    );
  });

  test('passes data on before its frame is complete, and gathers nothing of it', () => {
    const whole = bytesOf({ type: DATA, id: 7, payload: Buffer.alloc(16_000_000) });
    assert.equal(read([whole.subarray(0, 1000)])[0]?.payload.length, 990);
  });

  test('rejects a frame that is too large before it arrives', () => {
    const header = bytesOf({ type: 1, id: 1, payload: Buffer.alloc(131_075) }).subarray(0, 10);
    assert.throws(() => read([header]), ChannelViolation);
    assert.deepEqual(read([bytesOf({ type: 1, id: 1, payload: Buffer.alloc(131_074) }).subarray(0, 10)]), []);
  });
});

suite('a list of headers', () => {
  const character = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
  const value = fc.array(character, { maxLength: 20 }).map((codes) => String.fromCharCode(...codes));

  test('survives as text', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.stringMatching(/^[a-z-]{1,12}$/), value)), (pairs) => {
        assert.deepEqual(listOf(textOf(pairs.flat())), pairs.flat());
      }),
    );
  });

  test('with a line feed is not sent: it would become another header', () => {
    assert.throws(() => textOf(['x', 'a\nb']), UnsendableList);
    assert.throws(() => textOf(['x\ny', 'a']), UnsendableList);
    assert.throws(() => textOf(['x', 'y'.repeat(131_072)]), UnsendableList);
  });

  test('with an odd number of lines or a control character is not accepted', () => {
    for (const text of ['a', 'a\nb\nc', 'a\nb\r', 'a\nb\u0000', 'a\u0001\nb', 'a\n\u007f']) {
      assert.throws(() => listOf(text), ChannelViolation, JSON.stringify(text));
    }
  });
});
